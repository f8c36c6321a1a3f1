//! What a server says about a message, by the words of its `proto.h`.

/// It was done.
pub const FOUND: u8 = 0;
/// There is no such record.
pub const NOT_FOUND: u8 = 2;
/// There is such a record, and none was wanted.
pub(super) const EXISTS: u8 = 5;

/// The word for a result, under which failed operations are counted.
#[must_use]
pub fn name_of(result: u8) -> String {
    let word = match result {
        FOUND => "OK",
        1 => "UNKNOWN",
        NOT_FOUND => "NOT_FOUND",
        3 => "GENERATION",
        4 => "PARAMETER",
        EXISTS => "RECORD_EXISTS",
        6 => "BIN_EXISTS",
        7 => "CLUSTER_KEY_MISMATCH",
        8 => "OUT_OF_SPACE",
        9 => "TIMEOUT",
        11 => "UNAVAILABLE",
        12 => "INCOMPATIBLE_TYPE",
        13 => "RECORD_TOO_BIG",
        14 => "KEY_BUSY",
        16 => "UNSUPPORTED_FEATURE",
        17 => "BIN_NOT_FOUND",
        18 => "DEVICE_OVERLOAD",
        19 => "KEY_MISMATCH",
        20 => "NAMESPACE",
        21 => "BIN_NAME",
        22 => "FORBIDDEN",
        25 => "ENTERPRISE_ONLY",
        26 => "OP_NOT_APPLICABLE",
        27 => "FILTERED_OUT",
        28 => "LOST_CONFLICT",
        80 => "NOT_AUTHENTICATED",
        81 => "ROLE_VIOLATION",
        82 => "NOT_WHITELISTED",
        83 => "QUOTA_EXCEEDED",
        other => return format!("RESULT_{other}"),
    };
    word.to_owned()
}

/// What it means for who reads the report, where the word alone does not say it.
pub(super) fn meaning(result: u8) -> &'static str {
    match result {
        8 => "stop-writes reached: the memory or the storage of the namespace is full",
        9 => "the server did not finish it within transaction-max-ms",
        11 => "this node is not the partition's master, or too few nodes are up",
        13 => "the record is larger than a write block or max-record-size",
        14 => "too many operations are waiting for this record (transaction-pending-limit)",
        18 => "the device's write queue is full (max-write-cache)",
        20 => "the server has no such namespace",
        22 => "writes are forbidden: the set is too large, or a node whose clock is ahead has just truncated it",
        80 => "the server requires a login, which this client does not support",
        _ => "refused by the server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = (0..=u8::MAX).map(name_of).collect();
        assert_eq!(names.len(), 256);
        assert_eq!(
            [9, 11, 14, 18, 200].map(name_of),
            ["TIMEOUT", "UNAVAILABLE", "KEY_BUSY", "DEVICE_OVERLOAD", "RESULT_200"]
        );
    }
}
