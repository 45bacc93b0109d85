"""`candor scheme`: list reward schemes, show what the theory says of one, simulate what a policy learns under some.

Imports stand where they are needed: a command should answer at once.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from candor.schemes import Scheme
    from candor.schemes.simulation import Policy
    from candor.schemes.theory import Classification

_YES = {"strict": "strictly", "weak": "weakly", "none": "no"}
_SHOWN = (0.005, 0.1, 0.25, 0.5, 0.75, 0.9, 0.995)
"""Confidences at which `show` prints the rewards."""


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add `scheme` and its subcommands to a parser."""
    parser = commands.add_parser("scheme", help="reward schemes: what they reward, and what is learnt under them")
    parser.set_defaults(run=lambda _: parser.print_help())
    subcommands = parser.add_subparsers(metavar="COMMAND")

    listing = subcommands.add_parser("list", help="the paper's schemes, and those of a configuration")
    listing.set_defaults(run=_list)

    show = subcommands.add_parser(
        "show",
        help="what the theory says of a scheme",
        description="Say what the theory says of a scheme: one by its name, or your own by --correct and --wrong.",
        epilog="example: candor scheme show --correct 'c' --wrong 'c + log(1-c)'",
    )
    show.add_argument("name", nargs="?", metavar="NAME", help="such as brier-2, log-1/ln202, overconfidence-20")
    show.add_argument("--correct", metavar="F", help="reward of a correct answer, an expression in the confidence c")
    show.add_argument("--wrong", metavar="G", help="reward of a wrong answer")
    show.set_defaults(run=_show)

    simulate = subcommands.add_parser(
        "simulate",
        help="what a policy learns under schemes",
        description="Compute the calibration bias that schemes pull towards, and train a small policy under each.",
    )
    simulate.add_argument("names", nargs="+", metavar="NAME")
    simulate.add_argument(
        "--ratio", type=float, default=40, help="how much faster confidence is learnt than effort [40]"
    )
    simulate.add_argument("--steps", type=int, default=4000, help="gradient steps [4000]")
    simulate.add_argument("--questions", type=int, default=400, help="questions, p spread over (0, 1) [400]")
    simulate.add_argument("--effort", type=float, default=0.5, help="chance of trying at the start [0.5]")
    simulate.add_argument("--seed", type=int, default=1, help="of the draws [1]")
    simulate.set_defaults(run=_simulate)

    for each in (listing, show, simulate):
        each.add_argument("--config", metavar="FILE", help="a configuration whose own schemes can be named")
        each.add_argument("--json", action="store_true", help="for programs")
    for each in (show, simulate):
        each.add_argument("--figure", metavar="FILE", type=Path, help="draw it: .svg, .png or .pdf")


def join_formulas(arguments: Sequence[str]) -> list[str]:
    """Join --correct and --wrong with what follows, which argparse would take for an option where it begins with a minus."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--correct", "--wrong"):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _list(arguments: argparse.Namespace) -> None:
    from candor.schemes.description import facts, where_non_hackable
    from candor.schemes.theory import classify
    from candor.vocabulary import PAPER_SCHEMES

    own = _definitions(arguments)
    schemes = [_scheme(name, own) for name in dict.fromkeys([*PAPER_SCHEMES, *own])]
    found = [classify(scheme) for scheme in schemes]
    if arguments.json:
        _print_json([facts(scheme, each) for scheme, each in zip(schemes, found, strict=True)])
        return

    def below(p: float | None) -> str:
        return "never" if p is None else "always" if p == 1 else f"{p:.5f}"

    rows = [
        (
            each.name,
            where_non_hackable(each),
            below(each.hacking_pays_below),
            below(each.hacking_pays_below_on_101),
            "-" if each.hackable else each.bias,
        )
        for each in found
    ]
    print(_table(("scheme", "non-hackable", "giving up pays below p", "with 101 confidences", "bias"), rows))
    print("\nAny K > 0 is a scheme: log-K, brier-K, overconfidence-K, underconfidence-K, such as brier-0.5 or log-1/2.")
    print("candor scheme show NAME says more of one.")


def _show(arguments: argparse.Namespace) -> None:
    from candor.schemes.description import facts
    from candor.schemes.theory import classify

    scheme = _asked(arguments)
    found = classify(scheme)
    if arguments.json:
        _print_json(facts(scheme, found))
    else:
        print(_description(scheme, found))
    if arguments.figure:
        from candor.report.scheme_figures import plot_schemes

        _draw(plot_schemes([scheme]), arguments)


def _simulate(arguments: argparse.Namespace) -> None:
    from candor.schemes.simulation import train

    own = _definitions(arguments)
    schemes = [_scheme(name, own) for name in dict.fromkeys(arguments.names)]
    _check_figure(arguments)
    settings = {name: getattr(arguments, name) for name in ("ratio", "steps", "questions", "effort", "seed")}
    policies = []
    for scheme in schemes:
        _progress(f"{scheme.name}: {arguments.steps} steps ({len(policies) + 1} of {len(schemes)})")
        policies.append(train(scheme, **settings))
    _progress("")
    facts = [_learnt(scheme, policy) for scheme, policy in zip(schemes, policies, strict=True)]
    if arguments.json:
        _print_json({"settings": settings, "schemes": facts})
    else:
        print(_simulation(facts, _thirds(policies[0], policies[0].p), arguments))
    if arguments.figure:
        from candor.report.scheme_figures import plot_policies

        _draw(plot_policies(policies), arguments)


# --- What is asked for ------------------------------------------------------------------------------------------------


def _definitions(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.config is None:
        return {}
    from candor.config import load

    return load(Path(arguments.config)).schemes


def _scheme(name: str, definitions: dict[str, Any]) -> "Scheme":
    from candor.schemes import build

    return build(name, definitions)


def _asked(arguments: argparse.Namespace) -> "Scheme":
    _check_figure(arguments)
    expressions = (arguments.correct, arguments.wrong)
    if arguments.name is not None and expressions == (None, None):
        return _scheme(arguments.name, _definitions(arguments))
    if arguments.name is not None or None in expressions:
        raise ValueError("show wants a scheme's name, or both --correct and --wrong")
    from candor.schemes.construction import from_expressions

    return from_expressions("your scheme", arguments.correct, arguments.wrong)


def _check_figure(arguments: argparse.Namespace) -> None:
    if arguments.figure and arguments.figure.suffix not in (".svg", ".png", ".pdf"):
        raise ValueError(f"--figure {arguments.figure}: its name must end in .svg, .png or .pdf")


# --- What is answered -------------------------------------------------------------------------------------------------


def _description(scheme: "Scheme", found: "Classification") -> str:
    import numpy as np

    from candor.schemes.description import formulas, probability, where_hacking_pays, where_non_hackable
    from candor.schemes.scheme import Named
    from candor.schemes.theory import best_expected_reward

    f, g = formulas(scheme)
    effort = _YES[found.best_effort]
    if found.best_effort == "none" and found.interval:
        effort = f"no, only from {probability(found.interval[0], found.log_from)} on"
    how = {"symbolic": "closed forms", "numeric": "numerical"}[found.method]
    if found.hacking_pays_below is not None:
        how += f"; thresholds to within {found.error_bound:.0e}"
    if found.unproven:
        how += f"; sampled, not proven, on {found.unproven:.3g} of (0, 1)"
    k = [f"  k                {scheme.origin.k:.6g}"] if isinstance(scheme.origin, Named) and scheme.origin.k else []
    lines = [
        found.name,
        "",
        f"  f(c), correct    {f}",
        f"  g(c), wrong      {g}",
        *k,
        "",
        f"  interpretable    {_YES[found.interpretability]}",
        f"  proper scoring   {_YES[found.proper_scoring]}",
        f"  best effort      {effort}",
        f"  non-hackable     {'no: ' if found.hackable else ''}{where_non_hackable(found)}",
        f"  giving up pays   {where_hacking_pays(found)}",
        f"  bias             {'undefined, as the scheme can be hacked' if found.bias == 'undefined' else found.bias}",
        f"  known by         {how}",
    ]
    if found.witnesses:
        lines.append("")
    lines += [
        f"  against {w.fails}: with p = {w.p:.4g}, {w.strategy}: earns {w.reward:.4g} instead of {w.honest_reward:.4g}"
        for w in found.witnesses
    ]
    c = np.array(_SHOWN)
    header = ("c", *(f"{each:g}" for each in _SHOWN))
    rows = [("f(c)", scheme.f(c)), ("g(c)", scheme.g(c)), ("E_max(c)", best_expected_reward(scheme, c))]
    lines += [
        "",
        _table(
            header,
            [(name, *(f"{round(value, 4) + 0.0:.4f}" for value in values)) for name, values in rows],
            indent="  ",
        ),
    ]
    return "\n".join(lines)


def _learnt(scheme: "Scheme", policy: "Policy") -> dict[str, Any]:
    """Gather what a simulation says of a scheme."""
    from math import isnan

    from candor.schemes.simulation import entropy_regularised, verbalisation_noise
    from candor.schemes.theory import classify

    biases = {
        "bias_entropy_regularised": float(entropy_regularised(scheme).mean()),
        "bias_verbalisation_noise": float(verbalisation_noise(scheme).mean()),
    }
    return {
        "name": scheme.name,
        "gives_up_below": policy.threshold,
        "gives_up_below_in_theory": classify(scheme).hacking_pays_below_on_101 or 0.0,
        "hacking": policy.hacking,
        "accuracy": _thirds(policy, policy.accuracy),
        "confidence": float(policy.stated.mean()),
        "bias": policy.bias,
        **{name: None if isnan(bias) else bias for name, bias in biases.items()},
    }


def _thirds(policy: "Policy", values) -> dict[str, float | None]:
    """Average over the hardest, the middle and the easiest third of the questions."""
    from numpy import array_split

    thirds = zip(("hard", "medium", "easy"), array_split(values, 3), strict=True)
    return {name: float(part.mean()) if len(part) else None for name, part in thirds}


def _simulation(facts: Sequence[dict[str, Any]], honest: dict[str, float | None], arguments: argparse.Namespace) -> str:
    def number(value: float | None, form: str = ".3f") -> str:
        return "-" if value is None else f"{round(value, 6) + 0.0:{form}}"

    learnt = [
        (
            each["name"],
            number(each["gives_up_below"]),
            number(each["gives_up_below_in_theory"]),
            *map(number, each["accuracy"].values()),
            number(each["confidence"]),
            number(each["bias"], "+.3f"),
        )
        for each in facts
    ]
    learnt.append(("honest best effort", "0.000", "0.000", *map(number, honest.values()), "0.500", "+0.000"))
    headers = ("scheme", "gives up below p", "in theory", "hard", "medium", "easy", "confidence", "bias")
    blurred = [
        (
            each["name"],
            *(number(each[f"bias_{name}"], "+.4f") for name in ("entropy_regularised", "verbalisation_noise")),
        )
        for each in facts
    ]
    lines = [
        f"Training on {arguments.questions} questions whose chance p of a right answer is spread over (0, 1): {arguments.steps} steps,",
        f"confidence learnt {arguments.ratio:g} times faster than effort, which starts at {arguments.effort:g}. Accuracy on the hard, medium and easy third:",
        "",
        _table(headers, learnt, indent="  "),
        "",
        "Calibration bias of a policy that cannot state its confidence sharply (below 0: overconfident), in closed form:",
        "",
        _table(("scheme", "softmax, temperature 0.05", "noise, deviation 0.15"), blurred, indent="  "),
    ]
    if any(each["bias_entropy_regularised"] is None for each in facts):
        lines += ["", "  -: every confidence earns the same, so it keeps the one that it started with."]
    return "\n".join(lines)


def _draw(figure, arguments: argparse.Namespace) -> None:
    from candor.report.figures import save

    save(figure, arguments.figure)
    print(f"figure: {arguments.figure}", file=sys.stderr)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))


def _progress(text: str) -> None:
    """Show on a terminal what is being done, in one line that the next takes the place of."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Set columns under each other: the first and texts to the left, numbers to the right."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numeric = [
        all(cell.lstrip("+-").replace(".", "").isdigit() or cell == "-" for cell in column[1:]) for column in columns
    ]
    lines = [
        "   ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join(indent + line for line in lines)
