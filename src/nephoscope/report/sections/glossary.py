"""The terms of a report and what they mean."""

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Affinity",
        "The CPUs that the operating system lets a program use. It can imitate a smaller machine, but is not the same.",
    ),
    (
        "Block",
        (
            "One randomised round of the plan: every benchmark on every configuration once, in an order shuffled with "
            "the seed."
        ),
    ),
    (
        "Check, verdict",
        (
            "A check examines the evidence of a trial and gives the verdict valid, invalid or unknown, with a reason. "
            "Statistics use only trials that all checks call valid; a check that crashes gives the verdict unknown."
        ),
    ),
    (
        "Client CPU",
        (
            "CPU time of the load generator as a share of all CPUs of its machine. When client and server are "
            "co-located, the server could not use that time."
        ),
    ),
    (
        "Co-located",
        "Client and server run on the same machine and compete for it.",
    ),
    (
        "Configuration",
        "What a report ranks: a machine, storage, a database, its version and settings, under one name.",
    ),
    (
        "Coverage",
        (
            "How often an interval constructed in this way contains the true median: exact, and valid for any "
            "distribution. It depends only on n: with 6 replicates the range covers 96.8 %, with 5 only 93.7 %."
        ),
    ),
    (
        "CV",
        "Coefficient of variation: standard deviation divided by mean.",
    ),
    (
        "Equivalence margin",
        (
            "Two configurations are a tie when the data show that they differ by less than this, so that the "
            "difference does not matter."
        ),
    ),
    (
        "Excluded",
        (
            "Not used in statistics: rejected by a check, failed, interrupted or not run. Excluded trials stay in the "
            "data and in this report."
        ),
    ),
    (
        "Headline metric",
        "The metric by which a benchmark, or one of its jobs, is ranked.",
    ),
    (
        "Interval",
        (
            "The confidence interval of the median. Its ends are two of the measured values (order statistics), so it "
            "assumes no distribution."
        ),
    ),
    (
        "Level",
        (
            "What configurations are compared by: the geometric mean of the values, without what a whole block was "
            "faster or slower. Of values in steps, and of metrics that are not headlines, it is the median."
        ),
    ),
    (
        "Margin",
        "Margin of error: half the width of the interval, as a percentage of the median.",
    ),
    (
        "n",
        "Number of valid replicates. Seconds within a trial are not replicates.",
    ),
    (
        "Not decided",
        "The replicates show neither a difference nor a tie.",
    ),
    (
        "p, adjusted p",
        (
            "How often a difference at least this large would appear by chance if there were none. Adjusted: corrected "
            "for the number of comparisons made together (Holm or Benjamini\N{EN DASH}Hochberg)."
        ),
    ),
    (
        "Per CPU",
        "Each value is divided by the CPUs of its trial before the median is taken.",
    ),
    (
        "Percentile",
        (
            "p99 is the time within which 99 of 100 operations completed. A percentile is left out when too few "
            "operations are slower than it."
        ),
    ),
    (
        "Ratio",
        ("Left divided by right: the quotient of their levels."),
    ),
    (
        "Replicate",
        "One of several trials of the same benchmark on the same configuration.",
    ),
    (
        "Steal",
        "CPU time that the hypervisor withheld from a machine. Quiet trials lost at most 2 % of CPU time.",
    ),
    (
        "Trial",
        "One execution of one benchmark on one configuration. Each trial has its own folder.",
    ),
)
