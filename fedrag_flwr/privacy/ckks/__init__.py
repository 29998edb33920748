"""Encrypted scores and sums (CKKS): whoever computes them sees neither what goes in nor what comes out."""
