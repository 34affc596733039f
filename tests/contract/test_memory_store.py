"""The store contract, run against the store in memory."""

import pytest

from ragstone.stores import InMemoryVectorStore
from ragstone.testing.store_contract import VectorStoreContract


@pytest.mark.row("K0")
@pytest.mark.row("K1")
class TestInMemoryVectorStore(VectorStoreContract):
    async def make_store(self, dimensions: int) -> InMemoryVectorStore:
        return InMemoryVectorStore(dimensions)


@pytest.mark.row("K1")
class TestInMemoryVectorStoreWithoutDimensions(VectorStoreContract):
    async def make_store(self, dimensions: int) -> InMemoryVectorStore:
        return InMemoryVectorStore()


@pytest.mark.row("K1")
class TestInMemoryVectorStoreOfBytes(VectorStoreContract):
    async def make_store(self, dimensions: int) -> InMemoryVectorStore:
        return InMemoryVectorStore(dimensions, quantization="int8")


@pytest.mark.row("K1")
class TestInMemoryVectorStoreOfBits(VectorStoreContract):
    async def make_store(self, dimensions: int) -> InMemoryVectorStore:
        return InMemoryVectorStore(dimensions, quantization="binary")


@pytest.mark.row("K1")
class TestInMemoryVectorStoreInHalfPrecision(VectorStoreContract):
    tolerance = 5e-4

    async def make_store(self, dimensions: int) -> InMemoryVectorStore:
        return InMemoryVectorStore(dimensions, quantization="f16")
