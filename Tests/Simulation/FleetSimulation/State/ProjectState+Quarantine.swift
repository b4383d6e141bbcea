internal import StreamWire

/// The worker that runs a project's quarantined batches.
extension ProjectState {
    /// Assigns the quarantine: a worker that must hold no batch but a suspect. It is given no work before.
    mutating func assignQuarantine(_ lease: Int, _ grant: ClaimCall.Quarantine?) {
        if let worker = quarantined, !hasLease(worker) { quarantined = nil }
        if !suspects.isEmpty {
            if quarantined == nil { quarantined = lease }
        } else if quarantined == lease, grant == ClaimCall.Quarantine.none || held(by: lease) == 0 {
            quarantined = nil
        }
    }
}
