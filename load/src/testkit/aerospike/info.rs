//! What nodes report about themselves.

use super::Shared;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const PARTITIONS: usize = 4_096;

impl Shared {
    /// The answer to a question of several lines, each of them repeated before its value.
    pub(super) fn tell(&self, node: usize, body: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(body);
        let answer = |name: &str| format!("{name}\t{}\n", self.value(node, name));
        text.split_terminator('\n').map(answer).collect::<String>().into_bytes()
    }

    fn value(&self, node: usize, name: &str) -> String {
        let namespace = &self.namespace;
        match name {
            "node" => node_name(node),
            "statistics" => {
                format!("cluster_size={};uptime={}", self.size(), self.state().started[node].elapsed().as_secs())
            }
            "build" => "7.0.0.0-fake".to_owned(),
            "partition-generation" => self.state().generation.to_string(),
            "replicas" => {
                let maps: Vec<String> = (0..self.copies()).map(|copy| self.map(node, copy)).collect();
                format!("other:0,1,{};{namespace}:0,{},{}", empty_map(), maps.len(), maps.join(","))
            }
            "peers-clear-std" => {
                let others = self.addresses[..self.size()].iter().enumerate().filter(|(other, _)| *other != node);
                let others: Vec<String> =
                    others.map(|(other, address)| format!("[{},,[{address}]]", node_name(other))).collect();
                format!("{},3000,[{}]", others.len(), others.join(","))
            }
            _ => self.parameters(node, name).unwrap_or_else(|| "ERROR:4:unrecognized command".to_owned()),
        }
    }

    /// The answer to a name that has parameters.
    fn parameters(&self, node: usize, name: &str) -> Option<String> {
        if let Some(namespace) = name.strip_prefix("namespace/") {
            return Some(if namespace == self.namespace { self.statistics(node) } else { "type=unknown".to_owned() });
        }
        if let Some(names) = name.strip_prefix("sets/") {
            let set = names.strip_prefix(&self.namespace)?.strip_prefix('/')?;
            let objects = self.objects(node, set);
            let known = format!("objects={objects}:tombstones=0:data_used_bytes=0:truncating=false;");
            return Some(if objects == 0 { String::new() } else { known });
        }
        let set = name.strip_prefix("truncate:namespace=")?.strip_prefix(&self.namespace)?.strip_prefix(";set=")?;
        self.state().records.retain(|_, record| record.set != set.as_bytes());
        Some("ok".to_owned())
    }

    fn statistics(&self, node: usize) -> String {
        let state = self.state();
        let (counts, to_migrate) = (state.counts[node], state.to_migrate);
        let [proxied_reads, proxied_writes] = counts.proxied;
        format!(
            "ns_cluster_size={};effective_replication_factor={};client_read_success={};client_read_not_found={};\
             client_write_success={};from_proxy_read_success={proxied_reads};\
             from_proxy_write_success={proxied_writes};migrate_tx_partitions_remaining={to_migrate}",
            self.size(),
            self.copies(),
            counts.reads,
            counts.not_found,
            counts.writes,
        )
    }

    /// Records of a set of which this node has a copy.
    fn objects(&self, node: usize, set: &str) -> usize {
        let nodes = self.size();
        let has = |master: usize| (0..self.copies()).any(|copy| (master + copy) % nodes == node);
        let state = self.state();
        state.records.iter().filter(|(digest, it)| it.set == set.as_bytes() && has(self.master(digest))).count()
    }

    /// The partitions of which the node has the first copy, or the second.
    fn map(&self, node: usize, copy: usize) -> String {
        let nodes = self.size();
        let mut bits = vec![0_u8; PARTITIONS / 8];
        for partition in (0..PARTITIONS).filter(|partition| (partition % nodes + copy) % nodes == node) {
            bits[partition / 8] |= 0x80 >> (partition % 8);
        }
        STANDARD.encode(bits)
    }
}

fn empty_map() -> String {
    STANDARD.encode(vec![0; PARTITIONS / 8])
}

fn node_name(node: usize) -> String {
    format!("BB9{node:04}FA4E")
}
