use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A part of the box that cannot be used now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What it is.
    pub part: Part,
    /// What the configuration calls it.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A part of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// An output, which is not in the state it should be in.
    Output,
    /// An input.
    Input,
    /// The port of a scanner or a scale.
    Port,
    /// The button.
    Button,
    /// A lamp.
    Lamp,
    /// The watchdog, which is not armed.
    Watchdog,
}

/// All of them: whoever opens or uses a part says how that went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles(Arc<Mutex<BTreeMap<(Part, String), String>>>);

impl Troubles {
    /// How it went last.
    pub(crate) fn note(&self, part: Part, name: &str, fault: Option<&str>) {
        let key = (part, name.to_owned());
        match fault {
            Some(why) => self.all().insert(key, why.to_owned()),
            None => self.all().remove(&key),
        };
    }

    pub(crate) fn told(&self) -> Vec<Trouble> {
        let all = self.all();
        let one = |((part, name), why): (&(Part, String), &String)| Trouble {
            part: *part,
            name: name.clone(),
            why: why.clone(),
        };
        all.iter().map(one).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<(Part, String), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_well_again_is_none() {
        let troubles = Troubles::default();
        troubles.note(Part::Lamp, "status", None);
        troubles.note(Part::Lamp, "status", Some("gone"));
        troubles.note(Part::Output, "bell", Some("busy"));
        troubles.note(Part::Output, "bell", Some("not there"));
        troubles.note(Part::Lamp, "status", None);
        let told = troubles.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((told[0].part, &*told[0].why), (Part::Output, "not there"));
    }
}
