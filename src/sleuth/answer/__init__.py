"""Passages into an answer that cites them."""

from sleuth.answer.citations import Citation, CitationReport, check_citations, cited_numbers
from sleuth.answer.context import Passage, assemble
from sleuth.answer.extract import Sentence, score_sentences
from sleuth.answer.judge import Rating, evaluate_relevance, read_rating
from sleuth.answer.prompt import REFUSAL, build_prompt
from sleuth.answer.sentences import split_sentences
from sleuth.answer.summary import extract_summary, summarize_docs
from sleuth.answer.synthesis import EXTRACTIVE_NOTE, ExtractiveSynthesizer, LLMSynthesizer
from sleuth.answer.tokens import approximate_tokens

__all__ = [
    "EXTRACTIVE_NOTE",
    "REFUSAL",
    "Citation",
    "CitationReport",
    "ExtractiveSynthesizer",
    "LLMSynthesizer",
    "Passage",
    "Rating",
    "Sentence",
    "approximate_tokens",
    "assemble",
    "build_prompt",
    "check_citations",
    "cited_numbers",
    "evaluate_relevance",
    "extract_summary",
    "read_rating",
    "score_sentences",
    "split_sentences",
    "summarize_docs",
]
