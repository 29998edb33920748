"""What may leave a device and in which form."""

from fedrag_flwr.privacy.export import ExportFilter, Released
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES, LocalDifferentialPrivacy
from fedrag_flwr.privacy.ledger import BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.masks import DEFAULT_MASK_TYPES, TypeMasking
from fedrag_flwr.privacy.operators import Bundle, Change, Operator
from fedrag_flwr.privacy.policy import open_export_filter
from fedrag_flwr.privacy.randomised_response import RandomisedResponse, Surrogate, probabilities, respond
from fedrag_flwr.privacy.vocabulary import EntityPartition, Group, build_partition, load_partition

__all__ = [
    "DEFAULT_MASK_TYPES",
    "SENSITIVE_TYPES",
    "BudgetLedger",
    "Bundle",
    "Change",
    "EntityPartition",
    "ExportFilter",
    "Group",
    "KnownNames",
    "LocalDifferentialPrivacy",
    "Operator",
    "RandomisedResponse",
    "Released",
    "Surrogate",
    "SurrogateMemo",
    "TypeMasking",
    "build_partition",
    "load_partition",
    "open_export_filter",
    "probabilities",
    "respond",
]
