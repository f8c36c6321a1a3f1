//! A machine's memory: bandwidth over working sets, latency with small and large pages, and the way from core to core.
//!
//! Prints JSON lines: `started` with the machine, a line for each point with its samples, `finished` with their number.

mod bandwidth;
mod chase;
mod handoff;
mod machine;
mod pinned;
mod sampling;

use crate::exit::{ExitCode, Failure};
use bandwidth::{Operation, Place};
use chase::{LARGE_PAGE_BYTES, Pages};
use machine::Machine;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Of all caches of the last level: a working set of so many times theirs is in memory.
const TIMES_LAST_LEVEL: u64 = 4;
/// All working sets together take at most this part of the memory that is available.
const PART_OF_AVAILABLE: u64 = 4;
/// CPUs of which every pair is measured; of more, so many that lie apart.
const MOST_CORES: usize = 8;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Of a sample; a point has five to twenty.
    pub sample: Duration,
    /// Of a thread's largest working set; `None`: four times the last level's caches.
    pub largest_bytes: Option<u64>,
    /// Of a thread's smallest working set. The usual 16 KiB are half of the smallest first-level cache that is sold.
    pub smallest_bytes: u64,
}

/// A number of one point.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line<'run> {
    Started {
        version: &'static str,
        machine: &'run Machine,
    },
    Bandwidth {
        operation: Operation,
        threads: usize,
        working_set_bytes: u64,
        #[serde(flatten)]
        nodes: Nodes,
        samples_bytes_per_s: Vec<f64>,
    },
    Latency {
        pages: Pages,
        large_page_bytes: u64,
        working_set_bytes: u64,
        #[serde(flatten)]
        nodes: Nodes,
        samples_s: Vec<f64>,
    },
    CoreToCore {
        cpus: [usize; 2],
        samples_s: Vec<f64>,
    },
    Finished {
        points: usize,
    },
}

/// NUMA nodes of the threads and of their memory; both are absent where every thread has its own node's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Nodes {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_node: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_node: Option<usize>,
}

/// What is measured next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Point {
    Bandwidth(Operation, Vec<Place>, u64, Nodes),
    Latency(Pages, Place, u64, Nodes),
    CoreToCore(usize, usize),
}

/// Measures this machine and writes the lines.
pub fn run(request: Request, mut sink: impl Write) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::new(ExitCode::BadSpec, format!("cannot measure the memory of this machine: {error}"));
    let machine = Machine::read(Path::new("/"), pinned::cpus().map_err(failed)?);
    print(&mut sink, &Line::Started { version: env!("CARGO_PKG_VERSION"), machine: &machine })?;
    let points = points(&machine, &request);
    for point in &points {
        let line = measured(point, machine.line_bytes, request.sample).map_err(failed)?;
        print(&mut sink, &line)?;
    }
    print(&mut sink, &Line::Finished { points: points.len() })?;
    Ok(ExitCode::Finished)
}

fn print(sink: &mut impl Write, line: &Line) -> Result<(), Failure> {
    let text = serde_json::to_string(line).unwrap_or_default();
    writeln!(sink, "{text}")
        .map_err(|error| Failure::new(ExitCode::Interrupted, format!("cannot write the output: {error}")))
}

fn measured(point: &Point, line_bytes: usize, sample: Duration) -> io::Result<Line<'static>> {
    Ok(match point {
        Point::Bandwidth(operation, places, bytes, nodes) => Line::Bandwidth {
            operation: *operation,
            threads: places.len(),
            working_set_bytes: *bytes,
            nodes: *nodes,
            samples_bytes_per_s: bandwidth::measure(*operation, places, *bytes as usize, sample)?,
        },
        Point::Latency(pages, place, bytes, nodes) => {
            let size = (*bytes as usize, line_bytes);
            let chased = chase::measure((place.cpu, place.touched_by), *pages, size, sample)?;
            Line::Latency {
                pages: *pages,
                large_page_bytes: chased.large_page_bytes,
                working_set_bytes: *bytes,
                nodes: *nodes,
                samples_s: chased.samples_s,
            }
        }
        Point::CoreToCore(here, there) => {
            Line::CoreToCore { cpus: [*here, *there], samples_s: handoff::measure(*here, *there, sample)? }
        }
    })
}

/// In the order in which they are measured: one thread, half of the CPUs, all of them; latency; nodes; cores.
fn points(machine: &Machine, request: &Request) -> Vec<Point> {
    let here = |cpu: &usize| Place { cpu: *cpu, touched_by: *cpu };
    let own = Nodes::default();
    let mut points = Vec::new();
    let mut numbers = vec![1, machine.cpus.len().div_ceil(2), machine.cpus.len()];
    numbers.dedup();
    for threads in numbers {
        let places: Vec<Place> = apart(&machine.cpus, threads).iter().map(here).collect();
        for bytes in sizes(machine, threads as u64, request) {
            for operation in [Operation::Read, Operation::Write, Operation::Copy] {
                points.push(Point::Bandwidth(operation, places.clone(), bytes, own));
            }
        }
    }
    let alone = sizes(machine, 1, request);
    let Some((first, largest)) = machine.cpus.first().map(here).zip(alone.last().copied()) else { return points };
    points.extend(alone.iter().map(|bytes| Point::Latency(Pages::Small, first, *bytes, own)));
    // A smaller set has no large page.
    let large = alone.iter().filter(|bytes| machine.large_pages && **bytes >= LARGE_PAGE_BYTES as u64);
    points.extend(large.map(|bytes| Point::Latency(Pages::Large, first, *bytes, own)));
    for (cpu_node, cpus) in machine.nodes.iter().filter(|_| machine.nodes.len() > 1) {
        for (memory_node, others) in &machine.nodes {
            let nodes = Nodes { cpu_node: Some(*cpu_node), memory_node: Some(*memory_node) };
            let touched_by = others[0];
            let places: Vec<Place> = cpus.iter().map(|cpu| Place { cpu: *cpu, touched_by }).collect();
            let bytes = *sizes(machine, places.len() as u64, request).last().unwrap_or(&largest);
            points.push(Point::Latency(Pages::Small, places[0], largest, nodes));
            points.push(Point::Bandwidth(Operation::Read, places, bytes, nodes));
        }
    }
    let cores = apart(&machine.cpus, machine.cpus.len().min(MOST_CORES));
    for (index, here) in cores.iter().enumerate() {
        points.extend(cores[index + 1..].iter().map(|there| Point::CoreToCore(*here, *there)));
    }
    points
}

/// So many of the CPUs, as far apart in their order as they can be: on other cores than their neighbours', if they can.
fn apart(cpus: &[usize], number: usize) -> Vec<usize> {
    (0..number).map(|index| cpus[index * cpus.len() / number]).collect()
}

/// Working sets of each of so many threads, in steps of two: the largest leaves hardly a byte in any cache.
fn sizes(machine: &Machine, threads: u64, request: &Request) -> Vec<u64> {
    let (of_one, of_all) = machine.last_level_bytes();
    let usual = TIMES_LAST_LEVEL * of_one.max(of_all / threads);
    let limit = machine.available_bytes / PART_OF_AVAILABLE / threads;
    let enough = request.largest_bytes.unwrap_or(usual);
    let mut sizes = vec![request.smallest_bytes];
    while sizes.last().is_some_and(|last| *last < enough && last * 2 <= limit) {
        sizes.push(sizes[sizes.len() - 1] * 2);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::machine::Cache;
    use super::*;
    use std::collections::BTreeMap;

    fn machine(cpus: usize, nodes: &[&[usize]]) -> Machine {
        Machine {
            cpus: (0..cpus).collect(),
            nodes: nodes.iter().map(|cpus| cpus.to_vec()).enumerate().collect::<BTreeMap<_, _>>(),
            caches: vec![Cache { level: 3, bytes: 32 << 20, instances: nodes.len().max(1) }],
            line_bytes: 64,
            available_bytes: 64 << 30,
            large_pages: true,
        }
    }

    fn asked(largest_bytes: Option<u64>) -> Request {
        Request { sample: Duration::from_micros(200), largest_bytes, smallest_bytes: 16 << 10 }
    }

    #[test]
    fn working_sets_double_until_no_cache_holds_them() {
        let alone = machine(2, &[&[0, 1]]);
        assert_eq!(sizes(&alone, 1, &asked(None)).last(), Some(&(128 << 20)));
        assert_eq!(
            sizes(&alone, 1, &asked(Some(1 << 20))),
            [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20]
        );
        let only = Request { smallest_bytes: 3 << 20, ..asked(Some(4 << 20)) };
        assert_eq!(sizes(&alone, 1, &only), [3 << 20, 6 << 20]);
        let two = machine(4, &[&[0, 1], &[2, 3]]);
        assert_eq!(sizes(&two, 1, &asked(None)).last(), Some(&(256 << 20)), "a core may use both caches");
        let small = Machine { available_bytes: 64 << 20, ..alone };
        assert_eq!(sizes(&small, 2, &asked(None)).last(), Some(&(8 << 20)), "a quarter of what is available, for two");
    }

    #[test]
    fn every_number_of_threads_is_measured_once_and_lies_apart() {
        let threads = |cpus: usize| {
            let mut numbers: Vec<usize> = points(&machine(cpus, &[]), &asked(None))
                .iter()
                .filter_map(
                    |point| if let Point::Bandwidth(_, places, _, _) = point { Some(places.len()) } else { None },
                )
                .collect();
            numbers.dedup();
            numbers
        };
        assert_eq!(
            [threads(1), threads(2), threads(3), threads(8)],
            [vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 4, 8]]
        );
        assert_eq!(apart(&[0, 1, 2, 3, 4, 5, 6, 7], 4), [0, 2, 4, 6]);
    }

    #[test]
    fn nodes_are_measured_against_each_other_and_cores_in_pairs() {
        let points = points(&machine(4, &[&[0, 1], &[2, 3]]), &asked(Some(1 << 20)));
        let nodes = |point: &Point| match point {
            Point::Bandwidth(_, places, _, nodes) => nodes.cpu_node.map(|cpu| (cpu, nodes.memory_node, places[0])),
            _ => None,
        };
        let across: Vec<_> = points.iter().filter_map(nodes).collect();
        assert_eq!(across.len(), 4);
        assert_eq!(across[1], (0, Some(1), Place { cpu: 0, touched_by: 2 }));
        let pairs = points.iter().filter(|point| matches!(point, Point::CoreToCore(..))).count();
        assert_eq!(pairs, 6);
    }

    #[test]
    fn a_run_prints_what_it_measured_and_that_it_ended() {
        let mut out = Vec::new();
        run(asked(Some(64 << 10)), &mut out).expect("measured");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines[0]["event"], "started");
        assert_eq!(lines[lines.len() - 1]["points"], lines.len() - 2);
        let read = lines.iter().find(|line| line["operation"] == "read").expect("one");
        assert_eq!(read["working_set_bytes"], 16 << 10);
        assert!(read.get("cpu_node").is_none());
    }
}
