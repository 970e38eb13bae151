use std::collections::BTreeMap;
use std::fmt;

use crate::Verdict;

/// Ours beside theirs.
pub(crate) struct Table {
    counts: BTreeMap<(Verdict, Verdict), usize>,
    /// Tests only theirs passes, with the reason when it is known.
    short: Vec<(String, Option<String>)>,
    /// Tests only ours passes.
    beyond: Vec<String>,
}

type Verdicts = BTreeMap<String, Verdict>;

impl Table {
    pub(crate) fn new(
        ours: &Verdicts,
        theirs: &Verdicts,
        reasons: &BTreeMap<String, String>,
    ) -> Self {
        let mut table = Self {
            counts: BTreeMap::new(),
            short: Vec::new(),
            beyond: Vec::new(),
        };
        for (test, their) in theirs {
            let our = ours.get(test).copied().unwrap_or(Verdict::Fail);
            *table.counts.entry((our, *their)).or_default() += 1;
            match (our, their) {
                (Verdict::Fail | Verdict::Skip, Verdict::Pass) => {
                    table.short.push((test.clone(), reasons.get(test).cloned()));
                }
                (Verdict::Pass, Verdict::Fail) => table.beyond.push(test.clone()),
                (Verdict::Pass, _) | (_, Verdict::Fail | Verdict::Skip) => {}
            }
        }
        table
    }

    /// Tests that fail only with ours and nobody knows why.
    pub(crate) fn unexplained(&self) -> usize {
        self.short.iter().filter(|(_, why)| why.is_none()).count()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Verdict::{Fail, Pass, Skip};
        writeln!(
            f,
            "{:>14} {:>8} {:>8} {:>8}",
            "ours \\ theirs", "pass", "skip", "fail"
        )?;
        for our in [Pass, Skip, Fail] {
            write!(f, "{:>14}", format!("{our:?}").to_lowercase())?;
            for their in [Pass, Skip, Fail] {
                let count = self.counts.get(&(our, their)).copied().unwrap_or(0);
                write!(f, " {count:>8}")?;
            }
            writeln!(f)?;
        }
        for (test, why) in &self.short {
            writeln!(
                f,
                "  short   {test}: {}",
                why.as_deref().unwrap_or("NOT KNOWN WHY")
            )?;
        }
        for test in &self.beyond {
            writeln!(f, "  beyond  {test}")?;
        }
        write!(f, "{} fail without a known reason", self.unexplained())
    }
}
