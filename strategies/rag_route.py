"""RAGRoute: a learned router chooses by devices' centroids whom to ask, and the server answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np

from fedrag_flwr.records import (
    AnswerMode,
    CentroidBatch,
    CentroidRequest,
    Cost,
    because,
    declined,
)
from fedrag_flwr.retrieval.source_router import Centroids, SourceRouter
from strategies.help import Help, ServingRag
from strategies.transport import Request

_CENTROIDS = 16  # that a device shares at most
_DEVICES = 5  # that are asked at most


class RagRoute(ServingRag):
    """Each question goes as a vector to the devices that a small network thinks of use; what they find is read here.

    The server sees centroids, vectors of questions and the evidence; devices see vectors of each other's questions.
    """

    name = "rag-route"
    mode: AnswerMode = "routed"

    def share(self) -> None:
        """Take the centroids of each device; one without any is not asked."""
        dimension = self.tools.models.encoder.dimension
        asked = CentroidRequest(_CENTROIDS)
        outgoing = [Request(node_id, asked) for node_id in self.builds]
        self.centroids: dict[int, Centroids] = {}
        for node_id, batch in self.transport.exchange(outgoing, "query.centroids", CentroidBatch).items():
            found = batch.centroids
            if any(one.vector.shape != (dimension,) for one in found):
                self.transport.miss(node_id, "its centroids have another length than this encoder's vectors")
            elif len(found) > asked.most:
                self.transport.miss(node_id, "it shared more centroids than were asked for")
            elif found:
                self.centroids[node_id] = Centroids(
                    np.stack([one.vector for one in found]),
                    np.array([max(1, one.passages) for one in found]),
                    np.array([one.closeness for one in found]),
                )
        self.counts |= {"centroids": sum(len(one.passages) for one in self.centroids.values())}

    @cached_property
    def router(self) -> SourceRouter:
        """The network, as it was fitted."""
        return SourceRouter.load()

    def resolve(self) -> None:
        """Ask the likely devices, and answer over what they give."""
        routes = {question_id: self.route(question_id) for question_id in self.open}
        requests = self.requests((name, node_id, ()) for name, route in routes.items() for node_id in route)
        at_home = {question_id: asking.seconds for question_id, asking in self.open.items()}
        help_given = self.ask_owners(requests, "nearest")
        self.answer_here(help_given)
        for question_id, route in routes.items():
            spent = at_home[question_id] + help_given.get(question_id, Help()).seconds
            self._settle(question_id, route, spent)
        asked = Counter(self.transport.name(node_id) for route in routes.values() for node_id in route)
        self.tally({f"routing-{name}": count for name, count in asked.items()} | {"routed": len(routes)})

    def route(self, question_id: str) -> dict[int, float]:
        """The nodes to ask, likeliest first, with the chance that each is of use."""
        vector = self.open[question_id].vector
        if not self.centroids or vector.shape != (self.tools.models.encoder.dimension,):
            return {}
        nodes = list(self.centroids)
        chances = self.router.chances(vector, [self.centroids[node_id] for node_id in nodes])
        chosen = self.router.choose(chances, _DEVICES)
        return {nodes[place]: float(chances[place]) for place in chosen}

    def _settle(self, question_id: str, route: dict[int, float], spent: float) -> None:
        """What nobody could help with is an abstention; home's and owners' seconds belong to the answer."""
        told = ", ".join(f"{self.transport.name(node_id)} {chance:.2f}" for node_id, chance in route.items())
        answer = self.answers.get(question_id)
        if answer is None or question_id in self.open:
            answer = declined(question_id, "nobody could help")
            self.open.pop(question_id, None)
        cost = answer.cost + Cost(seconds=spent)
        best = max(route.values(), default=0.0)
        routed = because("routing", f"routed by {told}", best, self.router.threshold)
        self.answers[question_id] = replace(answer, cost=cost).after(routed)
