"""The whole of a configuration file, and what has to fit together across its sections."""

from typing import Annotated, Any, get_args

from pydantic import BaseModel, Field, model_validator

from candor.config.base import Name, Positive, Settings
from candor.config.confidence import Dataset, Model, Precision, Run
from candor.config.judging import Judge
from candor.config.multiple_choice import Benchmark, Matcher, McqRun
from candor.config.schemes import SchemeDefinition, base_of
from candor.vocabulary import BASELINES, is_scheme_name, parse_scheme_name


class Bootstrap(Settings):
    resamples: Positive = 1000
    """Bootstrap resamples over questions."""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Level of the intervals."""


class Config(Settings):
    """The configuration of candor."""

    seed: Annotated[int, Field(ge=0)]
    """Every draw depends on it and on the id of what is drawn for."""
    model_python: str = ".venv-model/bin/python"
    """Interpreter of the model environment, where rules do not bring their own (conda)."""
    datasets: dict[Name, Dataset]
    """Datasets by name."""
    models: dict[Name, Model]
    """Base models by name."""
    schemes: dict[Name, SchemeDefinition] = {}
    """Reward schemes of one's own, by name; a run's `schemes` may name them beside those of table 1."""
    judges: dict[Name, Judge] = {}
    """Judges of abstention by name; a run's `judges` names those that judge it."""
    runs: Annotated[list[Run], Field(min_length=1)]
    """What is trained and evaluated."""
    bootstrap: Bootstrap = Bootstrap()
    """Intervals of the metrics."""
    benchmarks: dict[Name, Benchmark] = {}
    """Multiple-choice benchmarks by name."""
    matchers: dict[Name, Matcher] = {}
    """Ways to match answers with options, by name."""
    mcq_runs: list[McqRun] = []
    """What is asked of which model in the multiple-choice track."""

    @model_validator(mode="after")
    def _schemes_exist(self):
        for name, definition in self.schemes.items():
            if is_scheme_name(name) or name in BASELINES:
                raise ValueError(f"schemes.{name}: this name is taken; choose one that no named scheme or baseline has")
            self._check_base(f"schemes.{name}", base_of(definition), (name,))
        for index, run in enumerate(self.runs):
            for name in run.schemes:
                self._check_name(f"runs.{index}", name)
        return self

    def _check_name(self, where: str, name: str) -> None:
        if name not in self.schemes:
            try:
                parse_scheme_name(name)
            except ValueError as error:
                own = f"; and those of `schemes:`: {', '.join(self.schemes)}" if self.schemes else ""
                raise ValueError(f"{where}: {error}{own}") from None

    def _check_base(self, where: str, base: Any, within: tuple[str, ...]) -> None:
        """See that a definition ends in names that exist and does not come back to itself."""
        if isinstance(base, BaseModel):
            self._check_base(where, base_of(base), within)
        elif base is not None:
            self._check_name(where, base)
            if base in within:
                raise ValueError(f"{where}: {' is made of '.join((*within, base))}, which never ends")
            if base in self.schemes:
                self._check_base(where, base_of(self.schemes[base]), (*within, base))

    @model_validator(mode="after")
    def _names_exist(self):
        seen = set()
        for index, run in enumerate(self.runs):
            for key, name, valid in (("model", run.model, self.models), ("dataset", run.dataset, self.datasets)):
                if name not in valid:
                    raise ValueError(f"runs.{index}.{key}: no {key} is called {name!r}; valid: {', '.join(valid)}")
            if self.models[run.model].train_precision is None:
                raise ValueError(
                    f"models.{run.model}.train_precision: missing, but runs.{index} trains it; "
                    f"valid: {', '.join(get_args(Precision))}"
                )
            if unknown := [name for name in run.judges if name not in self.judges]:
                raise ValueError(
                    f"runs.{index}.judges: {', '.join(map(repr, unknown))} not found; "
                    f"valid: {', '.join(self.judges) or 'none, since there is no `judges:`'}"
                )
            if (run.model, run.dataset) in seen:
                raise ValueError(f"runs.{index}: {run.model} on {run.dataset} is listed twice; join the two runs")
            seen.add((run.model, run.dataset))
        return self

    @model_validator(mode="after")
    def _mcq_names_exist(self):
        for name, benchmark in self.benchmarks.items():
            if benchmark.kind == "gpqa" and not name.startswith("gpqa"):
                raise ValueError(
                    f"benchmarks.{name}: the name of a benchmark of kind 'gpqa' begins with gpqa, by which DVC leaves its "
                    "items on this machine"
                )
        seen = {}
        for index, run in enumerate(self.mcq_runs):
            for key in ("models", "benchmarks", "matchers"):
                valid = getattr(self, key)
                if unknown := [name for name in getattr(run, key) if name not in valid]:
                    raise ValueError(
                        f"mcq_runs.{index}.{key}: {', '.join(map(repr, unknown))} not found; "
                        f"valid: {', '.join(valid) or f'none, since there is no {key!r}'}"
                    )
            for name in run.benchmarks:
                if run.shots > (most := self.benchmarks[name].most_shots):
                    raise ValueError(
                        f"mcq_runs.{index}.shots: {run.shots}, but benchmark {name!r} keeps {most} examples"
                    )
            for cell in run.cells:
                if cell in seen:
                    raise ValueError(
                        f"mcq_runs.{index}: {'/'.join(cell)} is already in mcq_runs.{seen[cell]}; list it once"
                    )
                seen[cell] = index
        return self

    @property
    def mcq_cells(self) -> dict[tuple[str, str, str, str], McqRun]:
        """Every (benchmark, fewshot, model, protocol) that is asked, as in paths, and the run that it is of."""
        return {cell: run for run in self.mcq_runs for cell in run.cells}

    def definitions_of(self, *schemes: str) -> dict[str, dict[str, Any]]:
        """Return the definitions that schemes are made of, their own among them, by name; none for those of table 1."""
        found: dict[str, dict[str, Any]] = {}
        for reference in schemes:
            while reference is not None:
                if isinstance(reference, str):
                    if reference not in self.schemes:
                        break
                    reference, name = self.schemes[reference], reference
                    found[name] = reference.model_dump(exclude_none=True)
                reference = base_of(reference)
        return found

    def run(self, model: str, dataset: str) -> Run:
        """Return the run of a model on a dataset; KeyError where there is none."""
        return {(run.model, run.dataset): run for run in self.runs}[model, dataset]
