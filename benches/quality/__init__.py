"""How well Ragstone ranks on judged corpora."""
