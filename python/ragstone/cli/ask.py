"""`ragstone ask`."""

from __future__ import annotations

import argparse
import asyncio
import os
from contextlib import aclosing

from ragstone.answering.response import RagResponse
from ragstone.chat import OpenAIChat
from ragstone.cli import output
from ragstone.cli.embedding import embedder_of
from ragstone.cli.search import index_of, retrieval_of
from ragstone.errors import ConfigurationError
from ragstone.options import RagOptions
from ragstone.persistence import IndexInfo
from ragstone.pipeline import RagPipeline

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> bool:
    """Ask, and print the answer as it comes, then its sources; return whether it failed."""
    options = RagOptions(
        **retrieval_of(arguments), temperature=arguments.temperature, system_prompt=arguments.system_prompt
    )
    info = index_of(arguments)
    chat = _chat_of(arguments)
    if arguments.json:
        output.print_json(asyncio.run(_ask(arguments.query, options, info, chat)).to_dict())
    else:
        asyncio.run(_stream(arguments.query, options, info, chat))
    return False


def _chat_of(arguments: argparse.Namespace) -> OpenAIChat:
    model = arguments.model or os.environ.get("RAGSTONE_MODEL")
    if not model:
        raise ConfigurationError("asking needs a chat model: give --model, or set RAGSTONE_MODEL")
    base_url = arguments.base_url or os.environ.get("RAGSTONE_BASE_URL")
    if not base_url:
        raise ConfigurationError(
            "asking needs a service: give --base-url, such as https://api.openai.com/v1, or set RAGSTONE_BASE_URL"
        )
    key = os.environ.get("RAGSTONE_API_KEY")
    return OpenAIChat(model=model, base_url=base_url, api_key=key, timeout=arguments.timeout)


async def _ask(query: str, options: RagOptions, info: IndexInfo, chat: OpenAIChat) -> RagResponse:
    async with chat, RagPipeline(embedder=embedder_of(info), path=info.path, chat=chat) as rag:
        with output.waiting(f"Asking {chat.identity}"):
            return await rag.ask(query, options)


async def _stream(query: str, options: RagOptions, info: IndexInfo, chat: OpenAIChat) -> None:
    pipeline = RagPipeline(embedder=embedder_of(info), path=info.path, chat=chat)
    in_line = False
    try:
        async with chat, pipeline as rag, aclosing(rag.ask_streaming(query, options)) as updates:
            async for update in updates:
                if update.text_delta is not None:
                    output.say(update.text_delta)
                    in_line = True
                if update.response is not None:
                    output.say("\n")
                    in_line = False
                    _print_sources(update.response)
    finally:
        if in_line:
            output.say("\n")


def _print_sources(response: RagResponse) -> None:
    console = output.results()
    cited = {citation.source for citation in response.citations}
    if response.sources:
        console.print("\nSources (* cited):")
    for number, hit in enumerate(response.sources, start=1):
        mark = "*" if number in cited else " "
        name = output.on_one_line(f"{hit.chunk.document_id}#{hit.chunk.chunk_index}")
        span = f"characters {hit.chunk.start} to {hit.chunk.end}"
        console.print(f"{number:>2}{mark} {hit.score:.4f} {hit.score_scale}  {name}  {span}", soft_wrap=True)
    for warning in response.warnings:
        output.complain(f"warning: {warning}")
