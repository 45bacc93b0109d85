"""Answer-moving attacks: the orders that an item's options are shown in (paper 5.1).

Run 0 is the original order. Run i >= 1 has the gold at position i, counted from 1, or last where there are fewer
options; the others keep their relative order. An option is its index in the item, wherever it is shown. Nothing is
drawn: an order follows from the item and the run alone.
"""


def order(options: int, gold: int, run: int) -> tuple[int, ...]:
    """Return the indices of an item's options in the order shown.

    Args:
        options: how many the item has.
        gold: index of the right one.
        run: 0 for the original order, else the gold's position from 1; clamped to the last.

    Raises:
        ValueError: `gold` is not an option's index, or `run` is negative.
    """
    if not 0 <= gold < options or run < 0:
        raise ValueError(f"expected 0 <= gold < options and run >= 0; found {gold=}, {options=}, {run=}")
    if run == 0:
        return tuple(range(options))
    others = [index for index in range(options) if index != gold]
    place = min(run, options) - 1
    return (*others[:place], gold, *others[place:])


def is_clamped(options: int, run: int) -> bool:
    """Tell whether an item lacks the position of a run, so that its gold is last instead."""
    return run > options
