"""Classes, probabilities and scores against tables 5.5, 5.6 and 5.7 of the thesis."""

import numpy as np
import pytest

from crosswind.analysis.verdict import accuracy, class_scores, interference_class, probability

# Table 5.5, runs 1 to 15 of tera_tf: percent of run time, measured and estimated.
MEASURED = [56.4, 48.7, 33.5, 27.2, 21, 18.5, 14.8, 14.4, 12.4, 11.3, 8.5, 8.4, 7.6, 5.5, 4.6]
ESTIMATED = [47.4, 41.6, 29.7, 22.4, 17.4, 16.7, 14.4, 12.8, 11.9, 10.2, 7.7, 7.3, 7, 4.8, 4.2]
MEASURED_CLASSES = "HHHHHHMMMMMMMLL"
ESTIMATED_CLASSES = "HHHHHHMMMMMLLLL"
# Table 5.7: the probabilities of the same runs.
MEASURED_PROBABILITY = [1, 1, 1, 1, 0.97, 0.93, 0.78, 0.75, 0.6, 0.5, 0.28, 0.27, 0.22, 0.12, 0.09]
ESTIMATED_PROBABILITY = [1, 1, 1, 0.98, 0.9, 0.87, 0.75, 0.63, 0.56, 0.41, 0.22, 0.2, 0.18, 0.09, 0.08]


@pytest.mark.parametrize(
    ("percent", "classes"),
    [(MEASURED, MEASURED_CLASSES), (ESTIMATED, ESTIMATED_CLASSES)],
    ids=["measured", "estimated"],
)
def test_table_5_5_classes(percent, classes):
    assert "".join(interference_class(p)[0].upper() for p in percent) == classes


@pytest.mark.parametrize(
    ("percent", "table"),
    [(MEASURED, MEASURED_PROBABILITY), (ESTIMATED, ESTIMATED_PROBABILITY)],
    ids=["measured", "estimated"],
)
def test_table_5_7_probabilities(percent, table):
    """To the digits of the two tables: 0.05 points of interference move a probability by up to 0.0044."""
    assert np.abs(probability(percent) - table).max() < 0.005 + 0.0045


def test_the_anchors_of_section_5_2_3():
    assert np.round(probability([7.5, 11.25, 15]), 2).tolist() == [0.21, 0.5, 0.79]


def test_accuracy_is_one_minus_the_difference():
    difference = [0, 0, 0, 0.02, 0.07, 0.06, 0.03, 0.12, 0.04, 0.1, 0.05, 0.07, 0.03, 0.02, 0.01]
    assert np.abs((1 - accuracy(MEASURED, ESTIMATED)) - difference).max() < 0.015
    assert accuracy(10, 10) == 1


def test_table_5_6_scores():
    """The table counts four low runs that table 5.5 does not show: they are low in both."""
    unseen = ["low"] * 4
    scores = class_scores(
        [interference_class(p) for p in MEASURED] + unseen, [interference_class(p) for p in ESTIMATED] + unseen
    )
    counts = {name: (s.true_positive, s.false_positive, s.false_negative) for name, s in scores.items()}
    assert counts == {"high": (6, 0, 0), "medium": (5, 0, 2), "low": (6, 2, 0)}
    rounded = {name: (round(s.precision, 2), round(s.recall, 2), round(s.f1, 2)) for name, s in scores.items()}
    assert rounded == {"high": (1, 1, 1), "medium": (1, 0.71, 0.83), "low": (0.75, 1, 0.86)}


@pytest.mark.parametrize(("percent", "name"), [(7.49, "low"), (7.5, "medium"), (15.0, "medium"), (15.01, "high")])
def test_class_limits(percent, name):
    assert interference_class(percent) == name


def test_runs_must_pair():
    with pytest.raises(ValueError, match="shorter"):
        class_scores(["low"], [])


def test_a_class_without_runs_has_no_fault():
    score = class_scores(["low"], ["low"])["high"]
    assert (score.precision, score.recall, score.f1) == (1, 1, 1)
