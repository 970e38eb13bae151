use std::path::PathBuf;

use frond_board::{Measure, Measures, Quantity, Reason, Sampled};

use crate::roots::Roots;
use crate::told::plain;

/// A file that holds one number: what the kernel's own drivers show below `/sys` (thermal zones,
/// hwmon, iio).
#[derive(Clone, Debug)]
pub struct NumberFile {
    path: PathBuf,
}

impl NumberFile {
    /// The file at `path`, which counts from `/sys` unless it is a whole path.
    #[must_use]
    pub fn new(roots: &Roots, path: &str) -> Self {
        Self {
            path: roots.sys.join(path),
        }
    }

    /// What it holds now, as it stands there.
    ///
    /// # Errors
    /// Why there is no number.
    pub fn sample(&self) -> Sampled {
        let shown = self.path.display();
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| Reason::of(format_args!("{}: {shown}", plain(&error))))?;
        let value: Option<f64> = text.trim().parse().ok();
        let value = value.filter(|value| value.is_finite());
        let value = value.ok_or_else(|| Reason::of(format_args!("no number is in {shown}")))?;
        Ok(one(Quantity::Number, value))
    }
}

pub(crate) fn one(quantity: Quantity, value: f64) -> Measures {
    core::iter::once(Measure::good(quantity, value)).collect()
}
