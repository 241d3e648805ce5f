from sleuth.answer.citations import CitationMark as CitationMark
from sleuth.answer.citations import citation_marks as citation_marks
from sleuth.answer.context import Passage as Passage
from sleuth.answer.context import assemble as assemble
from sleuth.answer.judge import aevaluate_relevance as aevaluate_relevance
from sleuth.answer.judge import evaluate_relevance as evaluate_relevance
from sleuth.answer.summary import SummarySynthesizer as SummarySynthesizer
from sleuth.answer.summary import asummarize_docs as asummarize_docs
from sleuth.answer.summary import summarize_docs as summarize_docs
from sleuth.answer.synthesis import LLMSynthesizer as LLMSynthesizer
from sleuth.answer.synthesis import budget_of as budget_of
from sleuth.answer.synthesis import build_prompt as build_prompt

__all__: list[str]
