"""Programs that type checkers judge, and the test that lets them."""
