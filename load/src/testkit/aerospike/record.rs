//! Messages about records, as a server reads and writes them: written separately from the target's code, so
//! that one mistake is not made twice.

use crate::target::aerospike::Digest;

pub(super) const NOT_FOUND: u8 = 2;
pub(super) const PARAMETER: u8 = 4;
const EXISTS: u8 = 5;
pub(super) const OUT_OF_SPACE: u8 = 8;
pub(super) const UNAVAILABLE: u8 = 11;
pub(super) const NAMESPACE: u8 = 20;
const FORBIDDEN: u8 = 22;
const NEVER_EXPIRES: u32 = u32::MAX;
const MAX_NAME_BYTES: usize = 15;

/// Why nothing was done.
pub(super) struct Refusal(pub(super) u8);

/// What is held.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) set: Vec<u8>,
    /// Names, types and values.
    bins: Vec<(Vec<u8>, u8, Vec<u8>)>,
}

/// What is asked of a record.
pub(super) struct Asked<'a> {
    pub(super) namespace: &'a [u8],
    pub(super) set: &'a [u8],
    pub(super) digest: Digest,
    /// `None`: all of its bins.
    pub(super) write: Option<Write<'a>>,
}

pub(super) struct Write<'a> {
    create_only: bool,
    existing_only: bool,
    replace: bool,
    ttl_s: u32,
    bins: Vec<(&'a [u8], u8, &'a [u8])>,
}

impl Write<'_> {
    /// Whether the record that is there must be read first, because what is not written of it stays.
    pub(super) fn reads(&self, found: Option<&Record>) -> bool {
        found.is_some() && !self.replace
    }

    /// What the record is afterwards.
    pub(super) fn apply(&self, set: &[u8], found: Option<&Record>) -> Result<Record, Refusal> {
        match found {
            Some(_) if self.create_only => return Err(Refusal(EXISTS)),
            None if self.existing_only => return Err(Refusal(NOT_FOUND)),
            // A server with nsup-period 0 takes none that expires.
            _ if ![0, NEVER_EXPIRES].contains(&self.ttl_s) => return Err(Refusal(FORBIDDEN)),
            _ => {}
        }
        let mut record = found.filter(|_| !self.replace).cloned().unwrap_or_default();
        record.set = set.to_vec();
        for &(name, kind, value) in &self.bins {
            record.bins.retain(|(known, _, _)| known != name);
            record.bins.push((name.to_vec(), kind, value.to_vec()));
        }
        Ok(record)
    }
}

/// Reads a message; whatever is not as it must be is refused.
pub(super) fn read(body: &[u8]) -> Result<Asked<'_>, Refusal> {
    let wrong = || Refusal(PARAMETER);
    let (head, rest) = body.split_at_checked(22).ok_or_else(wrong)?;
    let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (reads, writes, how) = (head[1], head[2], head[3]);
    let ttl_s = u32::from_be_bytes([head[10], head[11], head[12], head[13]]);
    let (fields, operations) = (short(18), short(20));
    if head[0] != 22 || head[4..10] != [0; 6] || head[14..18] != [0; 4] || fields != 3 {
        return Err(wrong());
    }
    let (namespace, rest) = field(rest, 0)?;
    let (set, rest) = field(rest, 1)?;
    let (digest, rest) = field(rest, 4)?;
    let digest = Digest(digest.try_into().map_err(|_| wrong())?);
    let (bins, rest) = read_bins(rest, operations)?;
    let is_read = (reads, writes, how, ttl_s, operations) == (0b11, 0, 0, 0, 0);
    let one_way = matches!((writes, how), (0x01, 0x00 | 0x08 | 0x10 | 0x20) | (0x21, 0x00));
    if !rest.is_empty() || namespace.is_empty() || set.is_empty() || !(is_read || one_way && reads == 0) {
        return Err(wrong());
    }
    if is_read {
        return Ok(Asked { namespace, set, digest, write: None });
    }
    if bins.is_empty() {
        return Err(wrong());
    }
    let (existing_only, replace) = (how & 0x28 != 0, how & 0x30 != 0);
    let write = Write { create_only: writes & 0x20 != 0, existing_only, replace, ttl_s, bins };
    Ok(Asked { namespace, set, digest, write: Some(write) })
}

/// The value of the next field, which must be of this type, and what follows.
fn field(bytes: &[u8], kind: u8) -> Result<(&[u8], &[u8]), Refusal> {
    let (part, rest) = part(bytes)?;
    match part.split_first() {
        Some((found, value)) if *found == kind => Ok((value, rest)),
        _ => Err(Refusal(PARAMETER)),
    }
}

type Bins<'a> = Vec<(&'a [u8], u8, &'a [u8])>;

/// Operations that write bytes, and what follows.
fn read_bins(mut bytes: &[u8], operations: u16) -> Result<(Bins<'_>, &[u8]), Refusal> {
    let mut bins = Vec::new();
    for _ in 0..operations {
        let (operation, rest) = part(bytes)?;
        let [2, kind @ 4, 0, length, named @ ..] = operation else { return Err(Refusal(PARAMETER)) };
        let (name, value) = named.split_at_checked(usize::from(*length)).ok_or(Refusal(PARAMETER))?;
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(Refusal(PARAMETER));
        }
        bins.push((name, *kind, value));
        bytes = rest;
    }
    Ok((bins, bytes))
}

/// The bytes that a length prefix announces, and the rest.
fn part(bytes: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    let split = bytes.split_first_chunk::<4>();
    let split = split.and_then(|(length, rest)| rest.split_at_checked(u32::from_be_bytes(*length) as usize));
    split.ok_or(Refusal(PARAMETER))
}

/// The body of an answer: the result, and the bins of a record.
pub(super) fn answer(result: u8, record: &Record) -> Vec<u8> {
    let generation = u8::from(result == 0);
    let mut body = vec![22, 0, 0, 0, 0, result, 0, 0, 0, generation, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    body.extend_from_slice(&(record.bins.len() as u16).to_be_bytes());
    for (name, kind, value) in &record.bins {
        body.extend_from_slice(&((4 + name.len() + value.len()) as u32).to_be_bytes());
        body.extend_from_slice(&[1, *kind, 0, name.len() as u8]);
        body.extend_from_slice(name);
        body.extend_from_slice(value);
    }
    body
}
