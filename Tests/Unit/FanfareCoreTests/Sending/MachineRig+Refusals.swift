@testable import FanfareCore
@testable import StreamWire

extension MachineRig {
    /// A batch in flight, of a project with this credential.
    static func sending(_ claim: Claim, _ spec: JobSpec, _ settings: SendMachine.Settings, fingerprint: UInt64 = 7)
        -> MachineRig
    {
        var rig = MachineRig(settings)
        rig.machine.gate.resources.credentialFingerprint = fingerprint
        rig.hold(claim, spec)
        rig.send()
        return rig
    }
}

extension ClaimReply {
    /// The reply of a blocked project.
    static func blocked(probe: Bool = false) -> ClaimReply {
        .empty(permits: 100) {
            $0.probeMs = 1_000
            $0.blockReason = "HTTP 403 denied"
            $0.isProbe = probe
        }
    }
}
