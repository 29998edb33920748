"""First stages and structured retrieval: what ranks a corpus' passages for a question."""

from fedrag_flwr.retrieval.base import (
    RankedPassage,
    Ranking,
    ReciprocalRankFusion,
    Retriever,
    fuse,
    ranked,
    scaled,
    searchable_text,
)
from fedrag_flwr.retrieval.controller import ControlledRetriever, Controller, ControllerFeatures, Scaling
from fedrag_flwr.retrieval.controller_fitting import (
    Examples,
    FittingSettings,
    LabelledRankings,
    Moments,
    descend,
    fit_controller,
    out_of_fold,
)
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import LateInteractionRetriever, TokenTable
from fedrag_flwr.retrieval.sparse import Bm25Retriever, Bm25Settings, words
from fedrag_flwr.retrieval.structured import KeySpaceRetriever, SecondHopRetriever

__all__ = [
    "Bm25Retriever",
    "Bm25Settings",
    "ControlledRetriever",
    "Controller",
    "ControllerFeatures",
    "DenseRetriever",
    "Examples",
    "FittingSettings",
    "KeySpaceRetriever",
    "LabelledRankings",
    "LateInteractionRetriever",
    "Moments",
    "QuestionVectors",
    "RankedPassage",
    "Ranking",
    "ReciprocalRankFusion",
    "Retriever",
    "Scaling",
    "SecondHopRetriever",
    "TokenTable",
    "descend",
    "fit_controller",
    "fuse",
    "out_of_fold",
    "ranked",
    "scaled",
    "searchable_text",
    "words",
]
