/// Every setting there is, in the order of the reference.
public enum Settings {
    public static let all: [Setting] = general + gateway + worker + project

    /// Paths that settings had in earlier versions, with their paths now. Files and variables may still use them.
    static let former = ["worker.window": "worker.watermark_step"]
}
