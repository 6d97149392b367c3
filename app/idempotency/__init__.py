"""Keys of creation calls and the answers given to them, so that a call may be repeated."""
