from sleuth.answer.citations import Citation as Citation
from sleuth.answer.citations import CitationReport as CitationReport
from sleuth.answer.citations import check_citations as check_citations
from sleuth.answer.citations import citation_marks as citation_marks
from sleuth.answer.citations import cited_numbers as cited_numbers
from sleuth.answer.context import Passage as Passage
from sleuth.answer.context import assemble as assemble
from sleuth.answer.conversation import Turn as Turn
from sleuth.answer.conversation import standalone_question as standalone_question
from sleuth.answer.extract import Sentence as Sentence
from sleuth.answer.extract import score_sentences as score_sentences
from sleuth.answer.extractive import INTRODUCTIONS as INTRODUCTIONS
from sleuth.answer.extractive import ExtractiveSynthesizer as ExtractiveSynthesizer
from sleuth.answer.judge import Rating as Rating
from sleuth.answer.judge import aevaluate_relevance as aevaluate_relevance
from sleuth.answer.judge import evaluate_relevance as evaluate_relevance
from sleuth.answer.judge import read_rating as read_rating
from sleuth.answer.prompt import REFUSAL as REFUSAL
from sleuth.answer.prompt import build_prompt as build_prompt
from sleuth.answer.sentences import split_sentences as split_sentences
from sleuth.answer.summary import SummarySynthesizer as SummarySynthesizer
from sleuth.answer.summary import asummarize_docs as asummarize_docs
from sleuth.answer.summary import cite_summary as cite_summary
from sleuth.answer.summary import extract_summary as extract_summary
from sleuth.answer.summary import summarize_docs as summarize_docs
from sleuth.answer.synthesis import LLMSynthesizer as LLMSynthesizer

__all__: list[str]

# Not public: for the other rooms.
from sleuth.answer.citations import CitationMark as CitationMark
from sleuth.answer.context import join_overlapping as join_overlapping
from sleuth.answer.evidence import Rarity as Rarity
from sleuth.answer.synthesis import budget_of as budget_of
