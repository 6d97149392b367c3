"""Cells of CSV files that people open in spreadsheets."""

# A spreadsheet takes a cell that begins with one of these for a formula, and runs it (OWASP,
# "CSV Injection"). An apostrophe in front makes it text.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def cell(text: str) -> str:
    """The text as a cell that is no formula."""
    return f"'{text}" if text.startswith(_FORMULA_SIGNS) else text
