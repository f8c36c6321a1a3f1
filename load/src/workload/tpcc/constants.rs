//! The constants C of NURand (clauses 2.1.6 and 2.1.6.1), and the table that keeps the data set's own beside its rows.
//!
//! Why it matters: the mean number of customers that share a last name looked up is 2.48 (1.79..3.87) when
//! `C_run - C_load` is legal, and 12.29 when both are equal. A generator that forgets `C_load` measures another
//! workload.

use super::random::{NonUniform, Purpose, Stream};
use crate::target::Dialect;
use std::collections::BTreeMap;

/// Version of the population: raised when the same seed would no longer give the same rows.
pub const POPULATION_VERSION: i64 = 1;

/// Reads what [`StoredConstants::from_rows`] takes: two columns, name and value, as text.
pub const STORED_CONSTANTS_QUERY: &str = "SELECT name, value FROM tpcc_constant";

/// Whether `C_run` may be used on data loaded with `c_load`: the distance is within 65..=119, and neither 96 nor 112.
#[must_use]
pub fn is_legal_delta(c_load: i32, c_run: i32) -> bool {
    matches!((c_run - c_load).abs(), 65..=95 | 97..=111 | 113..=119)
}

/// What a data set says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredConstants {
    /// Warehouses loaded.
    pub warehouses: u32,
    /// The data seed.
    pub seed: u64,
    /// C of the last names in CUSTOMER.
    pub c_load: i32,
}

impl StoredConstants {
    /// Those of the data set made from `seed`.
    #[must_use]
    pub fn new(warehouses: u32, seed: u64) -> Self {
        let c_load = Stream::new(seed, Purpose::LoadConstant, 0, 0).uniform(0, 255);
        Self { warehouses, seed, c_load }
    }

    /// From the rows of [`STORED_CONSTANTS_QUERY`].
    ///
    /// # Errors
    /// Says what is missing, or that another version of this program made the data.
    pub fn from_rows<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let rows: BTreeMap<&str, &str> = rows.into_iter().collect();
        let version: i64 = value(&rows, "population_version")?;
        if version != POPULATION_VERSION {
            return Err(format!(
                "the data set has population version {version}, this program needs version {POPULATION_VERSION}: load it again"
            ));
        }
        Ok(Self {
            warehouses: value(&rows, "warehouses")?,
            seed: value(&rows, "seed")?,
            c_load: value(&rows, "c_load")?,
        })
    }

    /// The statement that stores them, last of the load: without the row, the data set is not complete.
    #[must_use]
    pub fn insert_sql(&self, dialect: Dialect) -> String {
        let (ignore, or_nothing) =
            if dialect == Dialect::Mysql { (" IGNORE", "") } else { ("", " ON CONFLICT (name) DO NOTHING") };
        let values = self.rows().map(|(name, value)| format!("('{name}', {value})")).join(", ");
        format!("INSERT{ignore} INTO tpcc_constant (name, value) VALUES {values}{or_nothing}")
    }

    /// The rows themselves.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, i128); 4] {
        [
            ("population_version", POPULATION_VERSION.into()),
            ("warehouses", self.warehouses.into()),
            ("seed", self.seed.into()),
            ("c_load", self.c_load.into()),
        ]
    }
}

fn value<T: std::str::FromStr>(rows: &BTreeMap<&str, &str>, name: &str) -> Result<T, String> {
    let text = rows.get(name).ok_or_else(|| format!("tpcc_constant has no {name:?}: the load did not finish"))?;
    text.parse().map_err(|_| format!("tpcc_constant holds {name} = {text:?}, which is not a valid number"))
}

/// The three constants of a run, shared by all terminals, and the data set's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunConstants {
    /// C of the last names in the data.
    pub c_load: i32,
    /// C of the last names looked up.
    pub c_last: i32,
    /// C of customer numbers, 0..=1023.
    pub c_customer: i32,
    /// C of item numbers, 0..=8191.
    pub c_item: i32,
}

impl RunConstants {
    /// Draws them from the run's seed; every legal `C_run` is equally likely.
    ///
    /// # Panics
    /// Never: each `c_load` in 0..=255 has a legal partner.
    #[must_use]
    pub fn draw(seed: u64, c_load: i32) -> Self {
        let mut stream = Stream::new(seed, Purpose::RunConstants, 0, 0);
        let legal: Vec<i32> = (0..=255).filter(|&c| is_legal_delta(c_load, c)).collect();
        let chosen = stream.below(u32::try_from(legal.len()).expect("at most 256")) as usize;
        Self { c_load, c_last: legal[chosen], c_customer: stream.uniform(0, 1023), c_item: stream.uniform(0, 8191) }
    }

    /// The generator of last names.
    #[must_use]
    pub fn last_name(&self) -> NonUniform {
        NonUniform::last_name(self.c_last)
    }

    /// The generator of customer numbers.
    #[must_use]
    pub fn customer(&self) -> NonUniform {
        NonUniform::customer(self.c_customer)
    }

    /// The generator of item numbers.
    #[must_use]
    pub fn item(&self) -> NonUniform {
        NonUniform::item(self.c_item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability of each of the thousand names before C is added, by enumeration of all 256 x 1000 pairs.
    fn name_probabilities() -> Vec<f64> {
        let mut ways = vec![0_u32; 1000];
        for a in 0..256_usize {
            for b in 0..1000 {
                ways[(a | b) % 1000] += 1;
            }
        }
        ways.into_iter().map(|n| f64::from(n) / 256_000.0).collect()
    }

    /// Expected rows a by-name lookup finds: names are drawn with `C_run`, and customers 1001..=3000 of a district have
    /// names drawn with `C_load` (the first 1000 hold each name once).
    fn rows_per_lookup(probabilities: &[f64], delta: usize) -> f64 {
        (0..1000).map(|n| probabilities[n] * (1.0 + 2000.0 * probabilities[(n + delta) % 1000])).sum()
    }

    #[test]
    fn exactly_53_distances_are_legal() {
        assert_eq!((0..=255).filter(|&delta| is_legal_delta(0, delta)).count(), 53);
        assert!(![0, 64, 96, 112, 120].into_iter().any(|delta| is_legal_delta(0, delta)));
        assert!([65, 95, 97, 111, 113, 119].into_iter().all(|delta| is_legal_delta(delta, 0)));
    }

    #[test]
    fn a_legal_distance_reads_two_to_four_rows_per_name_and_none_twelve() {
        let probabilities = name_probabilities();
        let means: Vec<f64> = (1..=255_i32)
            .filter(|&delta| is_legal_delta(0, delta))
            .flat_map(|delta| {
                let delta = usize::try_from(delta).unwrap();
                [rows_per_lookup(&probabilities, delta), rows_per_lookup(&probabilities, 1000 - delta)]
            })
            .collect();
        let low = means.iter().copied().fold(f64::MAX, f64::min);
        let high = means.iter().copied().fold(0.0, f64::max);
        let mean = means.iter().sum::<f64>() / 106.0;
        assert!((low - 1.79).abs() < 0.005 && (high - 3.87).abs() < 0.005, "{low} {high}");
        assert!((mean - 2.48).abs() < 0.005, "{mean}");
        assert!((rows_per_lookup(&probabilities, 0) - 12.29).abs() < 0.005);
    }

    #[test]
    fn every_run_constant_is_legal_and_within_its_range() {
        for c_load in 0..=255 {
            for seed in 0..20 {
                let run = RunConstants::draw(seed, c_load);
                assert!(is_legal_delta(c_load, run.c_last) && (0..=255).contains(&run.c_last));
                assert!((0..=1023).contains(&run.c_customer) && (0..=8191).contains(&run.c_item));
            }
        }
    }

    #[test]
    fn runs_with_other_seeds_have_other_constants() {
        let drawn: std::collections::BTreeSet<i32> =
            (0..2000).map(|seed| RunConstants::draw(seed, 127).c_last).collect();
        let legal = (0..=255).filter(|&c| is_legal_delta(127, c)).count();
        assert_eq!(drawn.len(), legal, "every legal constant is reached");
    }

    #[test]
    fn load_constants_differ_between_seeds_and_reach_the_whole_range() {
        let drawn: std::collections::BTreeSet<i32> =
            (0..5000).map(|seed| StoredConstants::new(1, seed).c_load).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (0..=255).collect::<Vec<_>>());
    }

    #[test]
    fn stored_constants_come_back_and_an_unfinished_load_is_refused() {
        let stored = StoredConstants::new(3, 99);
        let c_load = stored.c_load.to_string();
        let rows = [("population_version", "1"), ("warehouses", "3"), ("seed", "99"), ("c_load", c_load.as_str())];
        assert_eq!(StoredConstants::from_rows(rows), Ok(stored));
        assert!(StoredConstants::from_rows(rows[..3].iter().copied()).unwrap_err().contains("c_load"));
        assert!(StoredConstants::from_rows([]).unwrap_err().contains("did not finish"));
        assert!(StoredConstants::from_rows([("population_version", "7")]).unwrap_err().contains("load it again"));
    }
}
