"""What every REST view shares: strict bodies, one shape of errors, paging. No view of its own."""
