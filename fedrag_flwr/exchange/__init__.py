"""What others must not read: sealed evidence, encrypted scores and sums, and questions that an enclave answers."""
