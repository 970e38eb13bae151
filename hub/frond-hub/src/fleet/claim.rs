use std::path::PathBuf;
use std::time::{Duration, Instant};

use frond_account::nkey::{Role, is_public_key};
use frond_fleet::{Pin, Question};
use frond_ota::claim::{self, Side};
use serde_json::{Value, json};

use super::host::Host;
use super::{Hub, bucket, files, say};

/// Takes a box for one's own, by the code that its status page shows.
#[derive(Debug, clap::Args)]
pub(super) struct Claim {
    /// Its name
    name: String,
    /// The code
    code: String,
    /// File of users to add its key to, which the hub's configuration includes
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    #[command(flatten)]
    hub: Hub,
}

/// The box says something every ten seconds.
const ANSWER_TIME: Duration = Duration::from_secs(25);

impl Claim {
    pub(super) fn run(&self) -> Result<(), String> {
        let code = claim::typed(&self.code)?;
        check_name(&self.name)?;
        let mut host = Host::looker(self.hub.connect()?, &self.hub.places())?;
        host.catch_up()?;
        let (identity, proof) = self.known(&mut host)?;
        let name = &self.name;
        let proof = proof.ok_or_else(|| format!("{name} was claimed before"))?;
        let wanted = claim::proof(&code, Side::Box, name, &identity);
        if !claim::is_same(&proof, &wanted) {
            return Err(format!(
                "that is not the code of {name}: another box may use its name"
            ));
        }
        let answer = claim::proof(&code, Side::Hub, name, &identity);
        let answer = json!({ "identity": identity, "proof": answer }).to_string();
        let mut caller = self.hub.connect()?;
        let key = format!("claim.{name}");
        // A box that knows is not claimed a second time: what it needs at the hub is there by then.
        self.let_in(&identity)?;
        let pin = Pin {
            identity: identity.clone(),
            is_claimed: true,
            start: 0,
        };
        let registry = self.hub.places().registry;
        bucket::put(&mut caller, &registry, &Pin::key_of(name), &pin.to_json())?;
        bucket::put(&mut caller, &self.hub.bucket, &key, answer.as_bytes())?;
        let until = Instant::now() + ANSWER_TIME;
        while self.known(&mut host)?.1.is_some() {
            if Instant::now() >= until {
                return Err(format!(
                    "{name} does not say that it knows: is its line up?"
                ));
            }
            host.turn(until)?;
        }
        say(&format!("{name} is claimed; its key is {identity}"));
        Ok(())
    }

    /// Its key, and its proof while nobody claimed it.
    fn known(&self, host: &mut Host) -> Result<(String, Option<String>), String> {
        read(&host.ask(Question::Box(self.name.clone()))?)
    }

    fn let_in(&self, identity: &str) -> Result<(), String> {
        let line = format!("{{ nkey: {identity} }} # {}\n", self.name);
        let Some(path) = &self.users else {
            say(&format!(
                "let it in with this line among the hub's users:\n  {line}"
            ));
            return Ok(());
        };
        files::change(path, |before| {
            let before = before.unwrap_or_else(|| "users: [\n]\n".to_owned());
            if names(&before, identity) {
                return Ok(None);
            }
            let after = with(&before, &line).ok_or_else(|| {
                let path = path.display();
                format!("{path} does not end with the ] of a list of users: add\n  {line}")
            })?;
            Ok(Some(after))
        })
    }
}

/// As boxes are called: it becomes part of a line.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(format!("{name:?} is no name that a box can have"))
}

/// What a box says of itself: its key, and its proof. Whoever may speak for it chooses these words,
/// and proves any of them that it likes: nothing but a key comes among the hub's users.
fn read(known: &str) -> Result<(String, Option<String>), String> {
    let known: Value = serde_json::from_str(known).unwrap_or_default();
    let word = |key: &str| known.get(key).and_then(Value::as_str).map(str::to_owned);
    let identity = word("identity").ok_or("the box has no key of its own yet")?;
    if !is_public_key(Role::User, &identity) {
        return Err(format!(
            "what the box says is its key is none, so it is not let in: {identity:?}"
        ));
    }
    Ok((identity, word("claim")))
}

/// Whether a list lets in a key already.
fn names(list: &str, identity: &str) -> bool {
    let said = |line: &str| {
        line.split(['#'])
            .next()
            .unwrap_or_default()
            .contains(identity)
    };
    list.lines().any(said)
}

/// A list with one more line.
fn with(list: &str, line: &str) -> Option<String> {
    let before = list.trim_end().strip_suffix(']')?;
    Some(format!("{}\n{line}]\n", before.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_users_grows_by_a_line() {
        let one = with("users: [\n]\n", "{ nkey: U } # a\n").unwrap();
        assert_eq!(one, "users: [\n{ nkey: U } # a\n]\n");
        let two = with(&one, "{ nkey: V } # b\n").unwrap();
        assert_eq!(two, "users: [\n{ nkey: U } # a\n{ nkey: V } # b\n]\n");
        assert_eq!(with("users: []\nx: 1", "y"), None);
    }
    const KEY: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

    #[test]
    fn a_box_that_calls_other_words_its_key_brings_nobody_in() {
        let said = |key: &str| read(&json!({ "identity": key, "claim": "x" }).to_string());
        assert_eq!(said(KEY).unwrap().0, KEY);
        let forged = format!("{KEY} }}\n{{ user: root, password: hacked }}\n#");
        let account = format!("A{}", &KEY[1..]);
        let damaged = format!("{}5", &KEY[..55]);
        for wrong in [forged, account, damaged, KEY.to_lowercase(), String::new()] {
            assert!(said(&wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "a b", "a\n{ user: x }", "a\u{1b}"] {
            assert!(check_name(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_key_that_is_let_in_is_not_listed_twice() {
        let list = format!("users: [\n{{ nkey: {KEY} }} # a\n]\n");
        assert!(names(&list, KEY));
        assert!(!names(&list.replace("{ nkey", "# { nkey"), KEY));
    }
}
