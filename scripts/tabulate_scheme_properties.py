"""Set the paper's table 1 with what was found beside what is printed, as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report.scheme_tables import (
    read_classifications,
    read_printed,
    scheme_properties,
    scheme_properties_latex,
    scheme_properties_markdown,
)
from candor.tables import write_text


def main(arguments: argparse.Namespace) -> None:
    found = read_classifications(arguments.classification)
    table = scheme_properties(found, read_printed(arguments.printed))
    warnings = [each["warning"] for each in found if each["warning"] and each["trained"]]
    write_text(table.write_csv(), arguments.csv)
    write_text(scheme_properties_markdown(table, warnings), arguments.markdown)
    write_text(scheme_properties_latex(table, warnings), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classification", required=True, metavar="JSON")
    parser.add_argument("--printed", required=True, metavar="CSV", help="the paper's table 1")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--markdown", required=True)
    parser.add_argument("--latex", required=True)
    commands.run(main, parser)
