"""Plot what small policies learnt under reward schemes, and how hacking depends on what is learnt faster."""

import argparse

from candor import commands
from candor.report.figures import save
from candor.report.scheme_figures import plot_hacking, plot_policies
from candor.report.scheme_tables import read_classifications, read_policies


def main(arguments: argparse.Namespace) -> None:
    found = {each["name"]: each for each in read_classifications(arguments.classification)}
    policies = read_policies(arguments.simulations)
    hackable = [name for name in policies if found[name]["hackable"]]
    shown = [by_ratio[arguments.ratio] for by_ratio in policies.values()]
    save(plot_policies(shown, hackable), *arguments.learnt)
    theory = {name: found[name]["hacking_pays_below_on_101"] for name in policies}
    save(plot_hacking(policies, theory), *arguments.hacking)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", required=True, metavar="PARQUET")
    parser.add_argument("--classification", required=True, metavar="JSON")
    parser.add_argument("--ratio", required=True, type=float, help="of which the policies are shown")
    for figure in ("learnt", "hacking"):
        parser.add_argument(f"--{figure}", required=True, nargs=2, metavar=("SVG", "PNG"))
    commands.run(main, parser)
