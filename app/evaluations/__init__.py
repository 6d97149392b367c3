"""Models measured on fixed sets of mazes."""
