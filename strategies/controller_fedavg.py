"""HKVM-RAG's controller, trained by federated averaging: no question leaves the device that it is asked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords
from numpy.typing import NDArray

from fedrag_flwr.errors import FederationError
from fedrag_flwr.records import AnswerMode, ControllerRequest, ControllerUpdate, SumTerm
from fedrag_flwr.retrieval.controller_fitting import Moments
from fedrag_flwr.retrieval.device_controller import features_id
from fedrag_flwr.retrieval.evidence_sources import FEATURES
from strategies.base import EVERY_EXCHANGE, FederatedRag
from strategies.discovery import quorum_of
from strategies.private_sums import PrivateSums
from strategies.transport import Request

LOCAL_EPOCHS = 4  # passes over its own examples that a device makes in a round

_VALUES, _EXAMPLES = "values", "num-examples"
Floats = NDArray[np.float64]


class ControllerFedAvg(FederatedRag):
    """Devices fit one controller on their own training questions, and read the passages that it puts first.

    First they give the means of their features and of the squares, whose average scales features alike everywhere.
    Then, round by round, each goes on from the common weights over its own examples, and Flower's FedAvg averages what
    comes back by the number of examples. In the end all devices keep the weights, those without questions too.

    The server sees each device's moments and weights. They rest on how the candidates of its questions are ranked, and
    hold no text. With `exchange = "encrypted"` it adds up ciphertexts and sees none of these numbers.
    """

    name = "controller-fedavg"
    mode: AnswerMode = "controlled"
    exchanges = EVERY_EXCHANGE

    def share(self) -> None:
        """Train the controller and hand it out; raises FederationError where no device has training questions with
        passages to tell apart, or none trained in any round.
        """
        if self.settings.exchange == "encrypted":
            self._share_privately()
        else:
            self._share_openly()

    def _share_openly(self) -> None:
        asked, width = ControllerRequest("moments", features_id(FEATURES)), len(FEATURES.names)
        updates = self._updates(list(self.builds), asked, 2 * width)
        trainers = self._trainers(updates)
        moments = fedavg(list(updates.values()))
        scaling = Moments(moments[:width], moments[width:]).scaling
        weights = np.zeros(width + 1)
        settings = self.settings.controller
        asked = replace(
            asked,
            stage="fit",
            devices=len(trainers),
            epochs=LOCAL_EPOCHS,
            mean=tuple(scaling.mean.tolist()),
            deviation=tuple(scaling.deviation.tolist()),
        )
        fitted = 0
        for number in range(settings.rounds):
            asked = replace(asked, round=number, weights=tuple(weights.tolist()))
            if fits := self._updates(trainers, asked, width + 1):
                weights, fitted = fedavg(list(fits.values())), fitted + 1
        self._require_fit(fitted)
        self._keep(replace(asked, stage="keep", round=settings.rounds, weights=tuple(weights.tolist())))
        self.counts |= {
            "controller-devices": len(trainers),
            "controller-examples": sum(update.examples for update in updates.values()),
        }

    def _share_privately(self) -> None:
        """The same steps over encrypted sums: the server sees who trains, and neither moments nor weights."""
        key, settings, width = self.tools.key, self.settings.controller, len(FEATURES.names)
        sums = PrivateSums(self.transport, self.cards, key)
        group = sums.agree(list(self.builds), quorum_of(self.settings.federation, len(self.cards)))
        self._require_quorum(len(group), len(self.cards), "group key")
        asked = ControllerRequest("moments", features_id(FEATURES), encrypted=True, server=key.public)
        updates = self._updates(group, asked, 0)
        trainers = self._trainers(updates)
        asked = replace(
            asked,
            stage="fit",
            devices=len(trainers),
            epochs=LOCAL_EPOCHS,
            moments_sum=sums.add(asked.step, _terms(updates), 2 * width + 1),
        )
        for number in range(settings.rounds):
            asked = replace(asked, round=number)
            updates = self._updates(trainers, asked, 0)
            if total := sums.add(asked.step, _terms(updates), width + 2):
                asked = replace(asked, weights_sum=total)
        self._require_fit(len(asked.weights_sum))
        self._keep(replace(asked, stage="keep", round=settings.rounds))
        self.counts |= {"controller-devices": len(trainers)}

    def _trainers(self, updates: Mapping[int, ControllerUpdate]) -> list[int]:
        if not updates:
            raise FederationError(
                "no device has training questions whose documents it holds",
                where=self.name,
                fix="give devices questions of the split 'train'",
            )
        return list(updates)

    def _require_fit(self, rounds: int) -> None:
        """Hand out no weights that nobody fitted: they would replace those that devices have."""
        if not rounds:
            raise FederationError(
                "no device trained in any round",
                where=self.name,
                fix="give them more time (federation.round-timeout)",
            )

    def _keep(self, asked: ControllerRequest) -> None:
        """Hand out the weights; only devices that keep them go on."""
        kept = self.transport.exchange(
            [Request(node_id, asked) for node_id in self.builds], "train.controller", ControllerUpdate
        )
        self.builds = {node_id: report for node_id, report in self.builds.items() if node_id in kept}
        self._require_quorum(len(kept), len(self.cards), "controller")

    def _updates(self, nodes: Sequence[int], asked: ControllerRequest, length: int) -> Mapping[int, ControllerUpdate]:
        """One round: the updates that rest on examples; a device whose numbers are not what was asked is named."""
        transport = self.transport
        found = transport.exchange([Request(node, asked) for node in nodes], "train.controller", ControllerUpdate)
        usable: dict[int, ControllerUpdate] = {}
        for node_id, update in found.items():
            if update.examples and len(update.values) != length:
                transport.miss(node_id, "it gave another number of weights than the controller has")
            elif update.examples:
                usable[node_id] = update
        return usable


def _terms(updates: Mapping[int, ControllerUpdate]) -> dict[int, SumTerm]:
    return {node_id: update.term for node_id, update in updates.items()}


def fedavg(updates: Sequence[ControllerUpdate]) -> Floats:
    """Average updates by their numbers of examples, with Flower's own aggregation; shape (values,)."""
    records = [
        RecordDict(
            {
                "arrays": ArrayRecord({_VALUES: Array(np.array(update.values, dtype=np.float64))}),
                "metrics": MetricRecord({_EXAMPLES: update.examples}),
            }
        )
        for update in updates
    ]
    return np.asarray(aggregate_arrayrecords(records, _EXAMPLES)[_VALUES].numpy(), dtype=np.float64)
