use std::path::PathBuf;
use std::time::{Duration, Instant};

use frond_fleet::Question;
use frond_ota::claim::{self, Side};
use serde_json::{Value, json};

use super::host::Host;
use super::{Hub, bucket, read_text, say, write_bytes};

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
        bucket::put(&mut caller, &self.hub.bucket, &key, answer.as_bytes())?;
        self.let_in(&identity)?;
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
        let known = host.ask(Question::Box(self.name.clone()))?;
        let known: Value = serde_json::from_str(&known).unwrap_or_default();
        let word = |key: &str| known.get(key).and_then(Value::as_str).map(str::to_owned);
        let identity = word("identity").ok_or("the box has no key of its own yet")?;
        Ok((identity, word("claim")))
    }

    fn let_in(&self, identity: &str) -> Result<(), String> {
        let line = format!("{{ nkey: {identity} }} # {}\n", self.name);
        let Some(path) = &self.users else {
            say(&format!(
                "let it in with this line among the hub's users:\n  {line}"
            ));
            return Ok(());
        };
        let before = match read_text(path) {
            Ok(text) => text,
            Err(_) if !path.exists() => "users: [\n]\n".to_owned(),
            Err(why) => return Err(why),
        };
        let after = with(&before, &line).ok_or_else(|| {
            let path = path.display();
            format!("{path} does not end with the ] of a list of users: add\n  {line}")
        })?;
        write_bytes(path, after.as_bytes())
    }
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
}
