use std::collections::BTreeMap;

use frond_subject::{Transform, is_literal, is_subset, with_references};

use crate::{Destination, Mapping};

/// What an account renames, ready to be asked often.
///
/// spec: nats-server v2.15.1 server/accounts.go `AddWeightedMappings`, `selectMappedSubject`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mappings(Vec<Rule>);

/// What became of a subject that a mapping names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// Its new name, which may be the old one.
    To(String),
    /// It is the share that nobody gets.
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    source: String,
    choices: Vec<Choice>,
    of_clusters: BTreeMap<String, Vec<Choice>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    /// `None` loses the message.
    to: Option<Transform>,
    weight: u8,
}

impl Mappings {
    /// From an account's plan. Destinations that make no sense are left out; of two rules for one
    /// source the later one counts.
    #[must_use]
    pub fn new(plan: &[Mapping]) -> Self {
        let mut rules: Vec<Rule> = Vec::new();
        for mapping in plan {
            let rule = Rule::new(mapping);
            match rules.iter_mut().find(|known| known.source == rule.source) {
                Some(known) => *known = rule,
                None => rules.push(rule),
            }
        }
        Self(rules)
    }

    /// Whether nothing is renamed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The filters of what is renamed: leafnodes are told that somebody wants them.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|rule| rule.source.as_str())
    }

    /// What becomes of `subject` in this server's cluster; `None` if no rule names it.
    /// `random` should be different each time.
    #[must_use]
    pub fn select(&self, subject: &str, cluster: &str, random: u64) -> Option<Mapped> {
        let mut rules = self.0.iter().enumerate();
        let (at, rule) =
            rules.find(|(_, rule)| rule.source == subject || is_subset(subject, &rule.source))?;
        // nats-server has no tokens yet to hash when its very first rule is the literal subject.
        let renamed = if at == 0 && rule.source == subject {
            ""
        } else {
            subject
        };
        let choices = rule.of_clusters.get(cluster).unwrap_or(&rule.choices);
        let mut drawn = u8::try_from(random % 100).unwrap_or_default();
        let chosen = choices.iter().find(|choice| {
            let hit = drawn < choice.weight;
            drawn = drawn.saturating_sub(choice.weight);
            hit
        });
        Some(match chosen.and_then(|choice| choice.to.as_ref()) {
            Some(transform) => Mapped::To(transform.rename(renamed, random)),
            None => Mapped::Lost,
        })
    }
}

impl Rule {
    fn new(mapping: &Mapping) -> Self {
        let source = &mapping.source;
        let mut choices: BTreeMap<Option<&str>, Vec<Choice>> = BTreeMap::from([(None, vec![])]);
        for destination in &mapping.destinations {
            let of = destination.cluster.as_deref();
            choices.entry(of).or_default().push(Choice {
                to: Transform::mapping(source, &destination.subject).ok(),
                weight: destination.weight,
            });
        }
        // Who names the source wants what is left to be lost.
        let keeps_rest = !mapping
            .destinations
            .iter()
            .any(|d: &Destination| d.subject == *source);
        let mut of_clusters = BTreeMap::new();
        let mut rule_choices = Vec::new();
        for (cluster, mut choices) in choices {
            let total: u32 = choices.iter().map(|choice| u32::from(choice.weight)).sum();
            if keeps_rest && total < 100 {
                choices.push(Choice {
                    to: keep(source),
                    weight: u8::try_from(100 - total).unwrap_or_default(),
                });
            }
            match cluster {
                Some(cluster) => {
                    of_clusters.insert(cluster.to_owned(), choices);
                }
                None => rule_choices = choices,
            }
        }
        Self {
            source: source.clone(),
            choices: rule_choices,
            of_clusters,
        }
    }
}

fn keep(source: &str) -> Option<Transform> {
    let destination = if is_literal(source) {
        source.to_owned()
    } else {
        with_references(source)
    };
    Transform::new(source, &destination).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(subject: &str, weight: u8, cluster: Option<&str>) -> Destination {
        Destination {
            subject: subject.to_owned(),
            weight,
            cluster: cluster.map(str::to_owned),
        }
    }

    fn mappings(rules: &[(&str, Vec<Destination>)]) -> Mappings {
        let plan: Vec<_> = rules
            .iter()
            .map(|(source, destinations)| Mapping {
                source: (*source).to_owned(),
                destinations: destinations.clone(),
            })
            .collect();
        Mappings::new(&plan)
    }

    /// How often each outcome comes among the hundred draws.
    fn shares(mappings: &Mappings, subject: &str, cluster: &str) -> BTreeMap<String, u32> {
        let mut shares = BTreeMap::new();
        for random in 0..100 {
            let name = match mappings.select(subject, cluster, random) {
                Some(Mapped::To(name)) => name,
                Some(Mapped::Lost) => "LOST".to_owned(),
                None => "NONE".to_owned(),
            };
            *shares.entry(name).or_default() += 1;
        }
        shares
    }

    fn expect(pairs: &[(&str, u32)]) -> BTreeMap<String, u32> {
        pairs.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect()
    }

    #[test]
    fn weights_decide_and_the_rest_keeps_its_name() {
        let rules = mappings(&[("a.*", vec![to("b.$1", 60, None), to("c.$1", 10, None)])]);
        let found = shares(&rules, "a.x", "");
        assert_eq!(found, expect(&[("b.x", 60), ("c.x", 10), ("a.x", 30)]));
        assert_eq!(shares(&rules, "a", ""), expect(&[("NONE", 100)]));
    }

    #[test]
    fn naming_the_source_loses_the_rest() {
        let rules = mappings(&[("a", vec![to("a", 50, None), to("b", 30, None)])]);
        let found = shares(&rules, "a", "");
        assert_eq!(found, expect(&[("a", 50), ("b", 30), ("LOST", 20)]));
    }

    #[test]
    fn a_cluster_has_its_own_destinations() {
        let list = vec![to("b", 100, None), to("w", 40, Some("west"))];
        let rules = mappings(&[("a", list)]);
        assert_eq!(shares(&rules, "a", "east"), expect(&[("b", 100)]));
        let west = expect(&[("w", 40), ("a", 60)]);
        assert_eq!(shares(&rules, "a", "west"), west);
    }

    #[test]
    fn only_a_clusters_destinations_leave_others_as_they_are() {
        let rules = mappings(&[("a.>", vec![to("w.>", 100, Some("west"))])]);
        assert_eq!(shares(&rules, "a.b", ""), expect(&[("a.b", 100)]));
        assert_eq!(shares(&rules, "a.b", "west"), expect(&[("w.b", 100)]));
    }

    #[test]
    fn a_literal_is_partitioned_as_nats_server_does() {
        let rules = mappings(&[
            ("lit", vec![to("p.{{partition(10)}}", 100, None)]),
            ("z.*", vec![to("z.{{partition(7)}}", 100, None)]),
        ]);
        assert_eq!(shares(&rules, "lit", ""), expect(&[("p.1", 100)]));
        assert_eq!(shares(&rules, "z.a", ""), expect(&[("z.3", 100)]));
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let rules = mappings(&[
            ("a.b", vec![to("one", 100, None)]),
            ("a.*", vec![to("two", 100, None)]),
        ]);
        assert_eq!(shares(&rules, "a.b", ""), expect(&[("one", 100)]));
        assert_eq!(shares(&rules, "a.c", ""), expect(&[("two", 100)]));
        let sources: Vec<_> = rules.sources().collect();
        assert_eq!(sources, ["a.b", "a.*"]);
    }
}
