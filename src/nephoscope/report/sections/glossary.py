"""The words of a report and what they mean here."""

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Affinity",
        "The CPUs that the operating system lets a program use. Here it stands for a smaller machine; it is not one.",
    ),
    (
        "Block",
        (
            "One randomised round of the plan: every configuration with every benchmark once, in an order "
            "shuffled with the seed."
        ),
    ),
    (
        "Check, verdict",
        (
            "A rule that looks at the evidence of a trial and says valid, invalid or unknown, with a reason. "
            "Only trials that every check calls valid count; a check that crashed is unknown."
        ),
    ),
    (
        "Client CPU",
        (
            "CPU time of the load generator, of all CPUs of its machine. Where client and server are "
            "co-located it is time that the server could not use."
        ),
    ),
    (
        "Co-located",
        "Client and server run on the same machine and compete for it.",
    ),
    (
        "Configuration",
        "What is ranked: machine, storage, database, version and settings, by one name.",
    ),
    (
        "Coverage",
        (
            "How often an interval made in this way holds the true median, exactly, whatever the "
            "distribution. It depends on n alone: with 6 replicates the range covers 96.8 %, with 5 only 93.7 "
            "%."
        ),
    ),
    (
        "CV",
        "Coefficient of variation: the standard deviation, of the mean.",
    ),
    (
        "Equivalence margin",
        "Two configurations closer than this are a tie: no difference that matters, shown and not assumed.",
    ),
    (
        "Excluded",
        (
            "Replicates that do not count: refused by a check, failed, interrupted or not run. They stay in "
            "the data and in this report."
        ),
    ),
    (
        "Headline metric",
        "The one metric by which a benchmark, or a job of it, is ranked.",
    ),
    (
        "Interval",
        "The interval of the median, from order statistics: two of the measured values, no distribution assumed.",
    ),
    (
        "Margin",
        "Half the interval, of the median, in per cent.",
    ),
    (
        "n",
        "Replicates that count. Seconds within a trial are never n.",
    ),
    (
        "p, adjusted p",
        (
            "How often a difference at least this large would appear if there were none; adjusted "
            "for the number of comparisons made together (Holm or Benjamini-Hochberg)."
        ),
    ),
    (
        "Per CPU",
        "Each value divided by the CPUs of its trial before the median is taken.",
    ),
    (
        "Percentile",
        (
            "p99 is the time within which 99 of 100 operations were done. It is left out where too few "
            "operations lie beyond it."
        ),
    ),
    (
        "Ratio",
        (
            "Left divided by right, as the Hodges\N{EN DASH}Lehmann estimate on logarithms: the median over "
            "all pairs of replicates."
        ),
    ),
    (
        "Replicate",
        "One of the repeated trials that statistics are taken over.",
    ),
    (
        "Steal",
        "CPU time that the hypervisor gave to somebody else.",
    ),
    (
        "Trial",
        "One execution of one benchmark on one configuration; the smallest thing with a folder of its own.",
    ),
    (
        "Unresolved",
        "Neither better, nor worse, nor a tie: the replicates do not decide it. It is not a tie.",
    ),
)
