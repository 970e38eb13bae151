use frond_broker::{Level, Link, LinkKind};
use frond_clock::Now;
use frond_config::{Config, LeafNodes, Proxies, Remote};

use crate::{Node, Output};

/// Remotes, each with the link made for it.
type Links = Vec<(Remote, Box<dyn Link>)>;

impl Node {
    /// Applies another configuration to the running server, whole or not at all. Clients that it
    /// does not concern stay connected.
    ///
    /// # Errors
    /// Why it is refused; then nothing changed.
    pub fn reload(&mut self, now: Now, new: &Config) -> Result<(), String> {
        let mut with_left_over = new.clone();
        self.deny_left_over(&mut with_left_over);
        let new = &with_left_over;
        let changes =
            frond_config::changes(&self.in_force(), new).map_err(|refused| refused.to_string())?;
        let authority = crate::authority(new).map_err(|errors| errors.to_string())?;
        let plan = crate::setup::plan(new, &authority);
        frond_account::Directory::build(&plan, Some(self.broker.directory()))
            .map_err(|error| error.to_string())?;
        let links = self.links_of(&new.leafnodes)?;
        let former = std::mem::replace(&mut self.config, new.clone());
        self.authority = authority;
        self.reload_jetstream(now);
        self.note_forwards();
        self.publish_facts(now);
        self.reload_claims(now);
        self.enable_accounts(now);
        self.reload_remotes(now, &former.leafnodes.remotes, links);
        self.want_remotes(now);
        if former.leafnodes.compression != self.config.leafnodes.compression {
            self.cut_accepted(now);
        }
        if former.cluster != self.config.cluster && self.routes.is_some() {
            self.reload_routes(now, &former.cluster);
        }
        for change in changes.lines() {
            let text = format!("Reloaded: {change}");
            self.outputs.push_back(Output::Log {
                level: Level::Info,
                text,
            });
        }
        self.reload_pins(now, &former);
        self.tell_proxies(former.proxies.as_ref());
        self.settle(now);
        Ok(())
    }

    /// spec: nats-server v2.15.1 server/reload.go `proxiesReload`
    fn tell_proxies(&mut self, former: Option<&Proxies>) {
        let keys = |proxies: Option<&Proxies>| {
            let keys = proxies.map(|proxies| proxies.trusted.clone());
            keys.unwrap_or_default()
        };
        let (old, new) = (keys(former), keys(self.config.proxies.as_ref()));
        for (some, others, what) in [(&old, &new, "removed"), (&new, &old, "added")] {
            let different = some.iter().filter(|key| !others.contains(key));
            let different: Vec<_> = different.map(|key| format!("{key:?}")).collect();
            if !different.is_empty() {
                let keys = different.join(" ");
                self.outputs.push_back(Output::Log {
                    level: Level::Info,
                    text: format!("Reloaded: proxies trusted keys [{keys}] were {what}"),
                });
            }
        }
    }

    /// The link of every remote, made before anything is changed: a bad one refuses the reload.
    fn links_of(&self, wanted: &LeafNodes) -> Result<Links, String> {
        let make = |remote: &Remote| {
            let link = (self.seed.links.solicit)(remote, wanted)?;
            Ok((remote.clone(), link))
        };
        wanted.remotes.iter().map(make).collect()
    }

    /// Leafs that were accepted go: they come back to what is configured now.
    fn cut_accepted(&mut self, now: Now) {
        let links = self.broker.link_statuses();
        let links: Vec<_> = links.map(|(id, _, _)| id).collect();
        for id in links {
            let is_remote = self.remotes.iter().any(|(_, remote)| *remote == id);
            if !is_remote && self.broker.link_kind(id) == LinkKind::Leaf {
                self.broker.detach(now, id);
            }
        }
    }

    /// Remotes that are gone or changed are cut, new ones are dialed, equal ones stay up.
    fn reload_remotes(&mut self, now: Now, former: &[Remote], wanted: Links) {
        let (stay, go): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.remotes)
                .into_iter()
                .partition(|(up, _)| {
                    former.contains(up) && wanted.iter().any(|(remote, _)| remote == up)
                });
        self.remotes = stay;
        for (_, link) in go {
            self.broker.detach(now, link);
        }
        for (remote, link) in wanted {
            if !self.remotes.iter().any(|(up, _)| *up == remote) {
                let id = self.broker.attach(now, link);
                self.remotes.push((remote, id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{LinkMakers, NodeSeed};

    fn refusing(_: &Remote, _: &LeafNodes) -> Result<Box<dyn Link>, String> {
        Err("holds no seed".to_owned())
    }

    fn config(text: &str) -> Config {
        frond_config::load_text(text, "x.conf", &frond_config::Nothing)
            .unwrap()
            .config
    }

    #[test]
    fn a_bad_remote_refuses_the_whole_reload() {
        let seed = NodeSeed {
            random: [7; 32],
            links: LinkMakers {
                solicit: refusing,
                accept: None,
                cluster: None,
                gateway: None,
            },
            outboxes_bytes_max: 1 << 20,
            memory_bytes_max: 1 << 24,
            strangers_max: 16,
            jwts: BTreeMap::new(),
        };
        let now = Now::default();
        let old = config("max_payload: 1000");
        let mut node = Node::build(now, &old, seed).unwrap();
        let remote = "leafnodes { remotes [ { url: \"nats://127.0.0.1:7422\" } ] }";
        let new = config(&format!("max_payload: 2000\n{remote}"));
        let refused = node.reload(now, &new).unwrap_err();
        assert_eq!(refused, "holds no seed");
        assert_eq!(
            (node.facts().max_payload_bytes, node.config == old),
            (1000, true)
        );
        assert!(node.poll().is_none());
        node.reload(now, &config("max_payload: 2000")).unwrap();
        assert_eq!(node.facts().max_payload_bytes, 2000);
    }
}
