"""The words of the system as frozen dataclasses; wire.py moves the ones that travel."""

from fedrag_flwr.records.answers import *
from fedrag_flwr.records.base import *
from fedrag_flwr.records.confidential import *
from fedrag_flwr.records.documents import *
from fedrag_flwr.records.exchanges import *
from fedrag_flwr.records.messages import *
from fedrag_flwr.records.walking import *
