internal import CurlTransport
internal import FCMWire
internal import FanfareCore
internal import OpenSSLKit

/// The project's credential: a service account with its access tokens, or a server key.
final class Credentials {
    let source: any CredentialSource
    /// Nil for a service account.
    let serverKey: ServerKeyCredential?
    private let refresher: TokenRefresher?
    private let lanes: LanePool?

    /// Called when the credential has changed; with whether this worker cannot get one.
    var onChange: (_ isStuck: Bool) -> Void = { _ in }

    init(project: ProjectContext, origin: OriginConfiguration) throws {
        guard let file = project.project.serviceAccount else {
            let key = ServerKeyCredential(
                serverKey: project.project.serverKey ?? "",
                senderID: project.project.senderID ?? ""
            )
            (source, serverKey, refresher, lanes) = (key, key, nil, nil)
            return
        }
        let account = try ServiceAccount.parse(file)
        let lanes = LanePool(loop: project.loop, configuration: origin)
        let refresher: TokenRefresher
        do {
            refresher = try TokenRefresher(project: project, account: account, lanes: lanes)
        } catch {
            // The key cannot be read; nothing else would close the pool.
            lanes.close()
            throw error
        }
        (source, serverKey, self.refresher, self.lanes) = (refresher, nil, refresher, lanes)
        refresher.onChange = { [weak self] in self?.onChange(refresher.isStuck) }
    }

    func start() { refresher?.start() }

    func close() { lanes?.close() }
}
