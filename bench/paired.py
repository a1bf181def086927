# SPDX-License-Identifier: Apache-2.0
"""What benchmarks that compare variants share: interleaved rounds, ratios of the same round, bootstrap intervals."""
import random
import statistics


def rounds(count, variants, measure):
    """Measures the variants in turn (A B C A B C …); gives each one's figures, one per round."""
    figures = {variant: [] for variant in variants}
    for _ in range(count):
        for variant in variants:
            figures[variant].append(measure(variant))
    return figures


def ratio(figures, base):
    """The median of the rounds' ratios, with its 95 % bootstrap interval."""
    ratios = [a / b for a, b in zip(figures, base)]
    return (statistics.median(ratios), *interval(ratios))


def interval(values, resamples=2000):
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def percent(figure):
    return f"{(figure - 1) * 100:+.1f} %"
