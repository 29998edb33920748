"""Peers that pass questions on: who is whose neighbour, how questions walk, and what peers learn of each other."""

from fedrag_flwr.overlay.expertise import Expertise, LearningRules
from fedrag_flwr.overlay.sketches import Levels, claim, gossip, levels_of, noisy_sketch, offers
from fedrag_flwr.overlay.topics import Topics, topics_of
from fedrag_flwr.overlay.topology import Overlay, make_overlay, measured_overlay
from fedrag_flwr.overlay.walks import Visit, Walk, WalkCount, WalkLesson, WalkRules, run_walk

__all__ = [
    "Expertise",
    "LearningRules",
    "Levels",
    "Overlay",
    "Topics",
    "Visit",
    "Walk",
    "WalkCount",
    "WalkLesson",
    "WalkRules",
    "claim",
    "gossip",
    "levels_of",
    "make_overlay",
    "measured_overlay",
    "noisy_sketch",
    "offers",
    "run_walk",
    "topics_of",
]
