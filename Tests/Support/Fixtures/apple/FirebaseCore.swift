// The part of Google's library FirebaseCore that the samples on the pages about Apple use.
public import Foundation

open class FirebaseApp: NSObject {
    public private(set) nonisolated(unsafe) static var isConfigured = false

    open class func configure() { isConfigured = true }
}
