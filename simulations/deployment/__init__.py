"""Real federations on one machine: SuperLink, SuperNodes and services as processes, on loopback."""
