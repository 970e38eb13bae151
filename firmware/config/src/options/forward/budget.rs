use crate::report::Report;
use crate::value::Value;

/// Bytes that may go to the hub in a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How many.
    pub bytes: u64,
    /// In which time.
    pub period: Period,
}

/// A time of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// From full hour to full hour.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From the first of a month on.
    Month,
}

const REMEDY: &str = "write \"20MB/day\"; the time is hour, day or month";

impl Budget {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let text = report.string(value)?;
        let found = Self::parse(&text);
        if found.is_none() {
            let wrong = format!("forward: {text:?} is no budget");
            report.error(&value.at, wrong, REMEDY);
        }
        found
    }

    /// `20MB/day`; sizes as everywhere in the file: `k` is 1000, `KB` and `KiB` are 1024.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (size, period) = text.split_once('/')?;
        let period = match period.trim().to_ascii_lowercase().as_str() {
            "hour" | "h" => Period::Hour,
            "day" | "d" => Period::Day,
            "month" => Period::Month,
            _ => return None,
        };
        let size = size.trim();
        let end = size.find(|c: char| !c.is_ascii_digit());
        let (digits, unit) = size.split_at_checked(end.unwrap_or(size.len()))?;
        let number: u64 = digits.parse().ok()?;
        let unit = unit.trim();
        let times = match unit {
            "" | "B" | "b" => 1,
            unit => u64::try_from(crate::lexer::size_multiplier(unit)?).ok()?,
        };
        let bytes = number.checked_mul(times).filter(|bytes| *bytes > 0)?;
        Some(Self { bytes, period })
    }
}

impl Period {
    /// How it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}
