"""Encrypted scores and sums (CKKS): whoever computes them sees neither what goes in nor what comes out."""

from fedrag_flwr.privacy.ckks.sandbox import Sandbox
from fedrag_flwr.privacy.ckks.scores import QuestionCipher, QuestionQuota, SummaryScorer
from fedrag_flwr.privacy.ckks.sums import GroupCipher, add_ciphertexts

__all__ = ["GroupCipher", "QuestionCipher", "QuestionQuota", "Sandbox", "SummaryScorer", "add_ciphertexts"]
