internal import CurlTransport
internal import Dispatch
internal import FCMWire
internal import FanfareConfiguration
internal import FanfareModel
internal import HTTPLanes
internal import XMPPTransport

extension Check {
    /// The route to FCM and the rights of the credentials, tested with a worker's own rules.
    static let online = Check("FCM") { subject, report in
        guard subject.isOnline else { return }
        for project in subject.configuration.projects {
            report.findings += await withCheckedContinuation { continuation in
                // The probe blocks until the server answers.
                DispatchQueue.global().async {
                    var probe = OnlineProbe(configuration: subject.configuration, project: project)
                    probe.run()
                    continuation.resume(returning: probe.report.findings)
                }
            }
        }
    }
}

/// Tests one project. Blocks.
struct OnlineProbe {
    let configuration: Configuration
    let project: Configuration.Project
    var report = Report("")

    mutating func run() {
        switch project.traits.identity {
        case .accessToken: testToken()
        case .serverKey: testServerKey()
        case .login: testXMPP()
        }
    }

    private var origin: OriginConfiguration {
        // The check of the files tells why the proxy's password cannot be read.
        OriginConfiguration(caFile: configuration.caFile?.path, proxy: (try? configuration.httpProxy()) ?? nil)
    }

    // MARK: v1

    private mutating func testToken() {
        let secrets = try? configuration.with(only: project).loadSecrets()
        guard let credential = secrets?.credentials[project.id] else { return testRoute() }
        report.check = "token of \(project.id)"
        let exchange = TokenProbe(credential: credential, origin: origin)
        switch exchange.run() {
        case .success(let token):
            if let lifetime = token.lifetimeFault {
                let text = "the token endpoint answered with expires_in \(lifetime)"
                report.warn(text, "check what answers at token_uri")
            } else {
                report.ok("received by \(credential.kind.rawValue), valid for \(token.expiresInSeconds) s")
            }
            testMessage(credential, token, identity: exchange.identity)
        case .failure(.unreachable(let endpoint, let failure)):
            let remedy =
                endpoint == .metadata
                ? "run on Google Cloud, set GCE_METADATA_HOST, or name a credential file" : Self.remedy(failure)
            report.fail("\(endpoint.rawValue) cannot be reached: \(failure.reason)", remedy)
        case .failure(.refused(let error)):
            let by = error.status == 0 ? "" : "refused by "
            let remedy = error.remedy.isEmpty ? "try again later" : error.remedy
            report.fail("\(by)\(error.endpoint.rawValue): \(error)", remedy)
        }
    }

    /// Has FCM validate a message to an invalid token, which shows whether the credential may send.
    private mutating func testMessage(_ credential: Credential, _ token: AccessToken, identity: String) {
        report.check = "FCM of \(project.id)"
        let body = #"{"validate_only":true,"message":{"token":"fanfare-doctor","data":{}}}"#
        let target = credential.projectID ?? project.id
        let probe: EndpointProbe.Report
        do {
            probe = try EndpointProbe.run(
                url: project.endpoint + project.traits.sendPath(project: target),
                headers: ["Authorization: Bearer \(token.value)", "Content-Type: application/json; charset=utf-8"]
                    + (credential.quotaProjectID.map { ["x-goog-user-project: \($0)"] } ?? []),
                body: Array(body.utf8),
                configuration: origin
            )
        } catch {
            return report.fail("\(project.endpoint) cannot be reached: \(error.reason)", Self.remedy(error))
        }
        if case .ambiguous(let reason) = RequestOutcome.answered(probe.answer).reaching(project.traits.answers) {
            return report.fail(
                "\(reason)",
                "check the endpoint, and what answers in its place: a proxy, firewall or portal"
            )
        }
        let status = probe.answer.status
        // The verdict that a worker would give.
        switch V1Response.verdict(.answered(probe.answer), kind: .token, nowMs: 0, atMostOnce: false) {
        case .sent, .sentPartly, .managed, .listed, .failed, .unknown:
            let other = target == project.id ? "" : " for project \(target)"
            report.ok("the credential may send\(other) (HTTP \(status) for a test message)")
        case .retry(let retry):
            let text = "HTTP \(status) for a test message: \(retry.failure.error.rawValue)"
            report.warn(text, "try again later; see Google's status page")
        case .refreshCredential(let failure), .blockProject(let failure):
            let remedy = PermissionAdvice.remedy(probe.answer, project: target, identity: identity)
            report.fail("HTTP \(status), nothing can be sent: \(failure.rawError)", remedy)
        }
        if !probe.isHTTP2 { project.httpEngine.reportHTTP1(in: &report) }
    }

    // MARK: The older transports

    /// The legacy or XMPP key; nil if its file cannot be read, which another check reports.
    private var serverKey: String? {
        (try? configuration.with(only: project).loadSecrets())?.serverKeys[project.id]
    }

    /// Has FCM try a message, which shows whether the server key may send. `dry_run` delivers nothing.
    private mutating func testServerKey() {
        guard let key = serverKey else { return testRoute() }
        report.check = "FCM of \(project.id)"
        let probe: EndpointProbe.Report
        do {
            probe = try EndpointProbe.run(
                url: project.endpoint + project.traits.sendPath(project: project.id),
                headers: ["Authorization: key=\(key)", "Content-Type: application/json; charset=utf-8"],
                body: Array(#"{"to":"fanfare-doctor","dry_run":true}"#.utf8),
                configuration: origin
            )
        } catch {
            return report.fail("\(project.endpoint) cannot be reached: \(error.reason)", Self.remedy(error))
        }
        let route = "\(project.endpoint) answers over verified TLS"
        let status = probe.answer.status
        let verdict = LegacyResponse.verdicts(
            .answered(probe.answer),
            recipients: ["fanfare-doctor"],
            kind: .token,
            nowMs: 0,
            atMostOnce: false
        ).first
        switch verdict {
        case .blockProject(let failure), .refreshCredential(let failure):
            report.fail("HTTP \(status), nothing can be sent: \(failure.rawError)", Self.keyRemedy)
        case .retry(let retry):
            let text = "\(route), HTTP \(status) for a test message: \(retry.failure.error.rawValue)"
            report.warn(text, "check that the endpoint speaks FCM's legacy protocol, then try again later")
        case .sent, .sentPartly, .managed, .listed, .failed, .unknown, nil:
            report.ok("\(route), and the server key may send (HTTP \(status) for a test message)")
        }
        if !probe.isHTTP2 { project.httpEngine.reportHTTP1(in: &report) }
    }

    private static let keyRemedy =
        "check that server_key_file holds the server key of this project's sender id, that it is no key of an app, that "
        + "it was not deleted, and that it allows this machine's address; better, use a key without a list of addresses"

    private mutating func testRoute() {
        report.check = "FCM of \(project.id)"
        do {
            let probe = try EndpointProbe.run(url: project.endpoint + "/", configuration: origin)
            report.ok("\(project.endpoint) answers over verified TLS, HTTP/\(probe.isHTTP2 ? "2" : "1.1")")
            if !probe.isHTTP2 { project.httpEngine.reportHTTP1(in: &report) }
        } catch {
            report.fail("\(project.endpoint) cannot be reached: \(error.reason)", Self.remedy(error))
        }
    }

    /// Connects directly, as workers do: the probe never uses the configured proxy for XMPP. Then it logs in.
    private mutating func testXMPP() {
        report.check = "XMPP of \(project.id)"
        let (host, port) = (project.xmppHost, project.xmppPort)
        do {
            try EndpointProbe.connect(host: host, port: port, configuration: origin)
        } catch {
            let route = "check the address, name service and firewall: XMPP uses no proxy and needs outbound \(port)"
            return report.fail("\(host):\(port) cannot be reached: \(error.reason)", Self.remedy(error, route))
        }
        let answer = "\(host):\(port) answers over verified TLS"
        guard let key = serverKey, let sender = project.senderID else { return report.ok(answer) }
        let login = XMPPConfiguration(
            host: host,
            port: port,
            caFile: configuration.caFile?.path,
            senderID: sender,
            serverKey: key
        )
        switch Result(catching: { try XMPPLoginProbe.run(login) }) {
        case .success(.accepted): report.ok("\(answer) and accepts the sender id and the server key")
        case .success(.refused(let reason)):
            report.fail("\(answer) and refuses the login, nothing can be sent: \(reason)", Self.keyRemedy)
        case .success(.failed(let reason)): report.warn("\(answer), but no login was possible: \(reason)", Self.later)
        case .failure(let error): report.warn("\(answer); the login was not tried: \(error)", Self.later)
        }
    }

    private static let later = "check that the peer is FCM's XMPP server, then try again later"

    private static func remedy(
        _ failure: EndpointProbe.Failure,
        _ route: String = "check the address, name service and firewall: workers need outbound 443; \(HTTPProxy.hint)"
    ) -> String {
        switch failure.reason.kind {
        case .proxyLogin: failure.reason.kind.remedy ?? route
        case .tls, .certificate, .authority:
            "check the address; if the authority is private, name its certificate in tls.ca_file"
        default: route
        }
    }
}
