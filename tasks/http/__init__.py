"""HTTP calls: what a schedule says of one, how it is rendered, sent, and judged."""
