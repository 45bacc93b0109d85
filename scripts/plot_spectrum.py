"""Plot confidence metrics along the spectrum of reward schemes (figures 3, 4 and 5)."""

import argparse

from candor import commands
from candor.report import spectrum_figures
from candor.report.figures import save
from candor.report.tables import confidence_metrics, read_metrics


def main(arguments: argparse.Namespace) -> None:
    frame = confidence_metrics(read_metrics(arguments.metrics))
    match arguments.kind:
        case "bias":
            figure = spectrum_figures.plot_bias_spectrum(frame, arguments.title)
        case "performance":
            figure = spectrum_figures.plot_metrics_spectrum(frame, spectrum_figures.PERFORMANCE, arguments.title)
        case "calibration":
            figure = spectrum_figures.plot_metrics_spectrum(frame, spectrum_figures.CALIBRATION, arguments.title)
    save(figure, arguments.svg, arguments.png)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", required=True, choices=("bias", "performance", "calibration"))
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="in the order of the figure")
    parser.add_argument("--svg", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--title", default="")
    commands.run(main, parser)
