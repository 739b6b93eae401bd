"""What every implementation of an interface promises, each claim run over all of them."""
