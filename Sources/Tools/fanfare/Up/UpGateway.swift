internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel
internal import OpenSSLKit

/// The gateway of `fanfare up`.
struct UpGateway {
    let address: ListenAddress
    /// How clients on this machine reach it; nil over a unix socket.
    let origin: String?
    /// The key that was made with this start; nil if the folder had keys before.
    var key: String?

    /// The folder of keys in the state folder, for the system with the simulator.
    static let keysFolder = "gateway-keys.d"

    /// The gateway that a configuration describes.
    ///
    /// - Parameter listen: replaces the address of the configuration.
    init(_ settings: Configuration.Gateway, listen: ListenAddress?) {
        address = listen ?? settings.listen
        guard case .tcp(_, let port) = address else {
            origin = nil
            return
        }
        origin = "\(settings.usesTLS ? "https" : "http")://localhost:\(port)"
    }

    /// Makes the first key of a folder, with every right.
    mutating func makeKey(in path: String, project: String) throws {
        let folder = ConfiguredFile(name: "gateway.keys_dir", path: path)
        if try KeyFile.makeFolder(folder), try !GatewayKeys.read(folder).entries.isEmpty { return }
        let text = GatewayKeyAddCommand.randomKey()
        guard let digest = KeyDigest(MessageDigest.sha256(Array(text.utf8))) else {
            preconditionFailure("SHA-256 of another size")
        }
        let rights = Set(GatewayKey.Right.allCases)
        _ = try KeyFile.write(
            GatewayKey(name: "first", proof: .digest(digest), projects: [project], rights: rights),
            into: folder
        )
        key = text
    }
}
