internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel
internal import FoundationEssentials
internal import OpenSSLKit

extension Check {
    /// Whether the gateway of this configuration can serve: its address, certificate, keys, and its rights in Redis. Finds
    /// nothing without a section `gateway`.
    static let gateway = Check("gateway") { subject, report in
        let settings = subject.configuration.gateway
        guard settings != Configuration.Gateway() else { return }
        let files: GatewayFiles
        do throws(ConfigurationError) {
            files = try subject.configuration.loadGateway()
        } catch {
            for fault in error.faults {
                report.fail(fault, "correct the file; the gateway's user must be able to read it")
            }
            return
        }
        for concern in files.concerns { report.warn(concern.text, concern.remedy) }
        if settings.keysFolder == nil || files.keys.keys.isEmpty {
            report.warn("no key: every request is refused", "run `fanfare gateway key add NAME --project ID`")
        }
        let isServed = UpRun.accepts(settings.listen)
        report.ok("\(settings.listen) \(isServed ? "is served" : "is free: no gateway runs here")")
        report.check = "gateway certificate"
        if let certificate = settings.certificateFile, let key = settings.keyFile, !settings.isBehindProxy {
            GatewayCertificate(certificate: certificate, key: key).examine(
                now: Int64(Date().timeIntervalSince1970),
                &report
            )
        }
        report.check = "gateway keys"
        GatewayProjects(keys: files.keys, subject: subject).examine(&report)
    }
}

/// The certificate and the private key of a gateway.
struct GatewayCertificate {
    let certificate: ConfiguredFile
    let key: ConfiguredFile

    /// Before the end of a certificate, days to replace it in.
    private static let warningDays: Int64 = 14
    private static let longestList = 8

    /// - Parameter now: Unix seconds.
    func examine(now: Int64, _ report: inout Report) {
        guard let pem = text(of: certificate), let keyPEM = text(of: key) else { return }
        let renew = "replace gateway.cert_file and gateway.key_file; `fanfare gateway ca` makes a pair"
        let facts: CertificateFacts
        do {
            facts = try CertificateFacts(pem: pem)
            _ = try TLSServerContext(identity: ServerIdentity(certificatePEM: pem, keyPEM: keyPEM))
        } catch {
            return report.fail("\(certificate) and \(key) cannot be used: \(error)", renew)
        }
        let days = (facts.notAfter - now) / 86_400
        let more = facts.names.count - Self.longestList
        let names = facts.names.prefix(Self.longestList).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        if facts.notAfter <= now { return report.fail("expired: clients refuse it", renew) }
        if facts.notBefore > now {
            return report.fail("not valid yet: clients refuse it", "\(renew); or set the clock")
        }
        if facts.names.isEmpty { return report.fail("has no subjectAltName: clients refuse it", renew) }
        if days < Self.warningDays { return report.warn("expires in \(days) days; its names: \(names)", renew) }
        report.ok("valid for \(days) days; its names: \(names)")
    }

    /// nil if the file cannot be read, which another finding reports.
    private func text(of file: ConfiguredFile) -> String? {
        (try? file.read(limit: 1 << 20)).map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}

/// The projects that keys of the gateway may use.
struct GatewayProjects {
    let keys: KeyTable
    let subject: Check.Subject

    func examine(_ report: inout Report) {
        guard let facts = subject.redis, !keys.keys.isEmpty else { return }
        if let refused = facts.gatewayRefusal {
            return report.fail(
                "this Redis user may not do what the gateway does: \(refused)",
                "give the gateway the rules of fanfare-gateway in ops/redis/fanfare.acl"
            )
        }
        let projects = Set(keys.keys.flatMap(\.projects)).sorted()
        let known = Set(subject.configuration.projects.map(\.id))
        for id in projects where !known.contains(id) {
            let names = keys.keys.filter { $0.projects.contains(id) }.map(\.name).prefix(3).joined(separator: ", ")
            report.warn(
                "keys for \(id), such as \(names): this configuration has no such project",
                "check the id, or that workers with another configuration serve it"
            )
        }
        for project in facts.projects where projects.contains(project.id) && project.workersAlive == 0 {
            report.warn(
                "no worker serves \(project.id): its sends are deferred",
                "start a worker that serves it; `fanfare project ls` shows them"
            )
        }
        if report.isEmpty {
            report.ok("\(keys.keys.count == 1 ? "1 key" : "\(keys.keys.count) keys"), and workers serve their projects")
        }
    }
}
